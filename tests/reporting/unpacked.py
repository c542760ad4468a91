"""What the words of a page open."""

import base64
import json
import zlib


def unpacked(html):
    """RETURNS for each text: "text", "facts" of each token, "reasons"."""
    data = html.split('id="data">')[1].split("</script>")[0]
    return json.loads(zlib.decompress(base64.b64decode(data)))
