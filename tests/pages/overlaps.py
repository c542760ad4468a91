"""Whether a reader can see every word of a page: pieces of text that lie on each other, measured in the browser."""

from typing import Any

SCRIPT = """
const pieces = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  if (!node.data.trim() || !node.parentElement.checkVisibility()) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) pieces.push({ node: node, text: node.data.trim(), box: box });
}
const bad = [];
pieces.forEach((a, i) => pieces.slice(i + 1).forEach((b) => {
  const width = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
  const height = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
  if (a.node !== b.node && width > arguments[0] && height > arguments[0]) bad.push(a.text + " / " + b.text);
}));
return { n: pieces.length, bad: bad, wide: document.documentElement.scrollWidth > window.innerWidth };
"""
PIXELS = 2  # letters of neighbouring lines may touch


def overlaps(driver: Any) -> list[str]:
    """Pairs of texts of which one hides a part of the other; that the page is wider than the window. There is text."""
    found = driver.execute_script(SCRIPT, PIXELS)
    assert found["n"] > 0
    return [*found["bad"], *(["wider than the window"] if found["wide"] else [])]
