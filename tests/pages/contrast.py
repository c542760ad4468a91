"""Text that is too pale on what is behind it (WCAG 2.1, AA: a ratio of 4.5), measured in the browser."""

from typing import Any

SCRIPT = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const over = (colours) => {
  canvas.clearRect(0, 0, 1, 1);
  for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const light = (rgb) => {
  const [r, g, b] = rgb.map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const pale = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("svg")) continue;
  const behind = [];
  for (let one = element; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
  const colour = getComputedStyle(element).color;
  const [a, b] = [light(over(behind)), light(over([...behind, colour]))].sort((x, y) => x - y);
  if ((b + 0.05) / (a + 0.05) < 4.5) pale.push(walker.currentNode.data.trim() + " " + colour);
}
return pale;
"""


def pale(driver: Any) -> list[str]:
    return driver.execute_script(SCRIPT)
