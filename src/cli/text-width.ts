/** Text in a terminal: how many columns it takes, and how to make it fit. Names come from anywhere: nothing in them may move the cursor. */

const INVISIBLE = /\p{C}/gu;
const COMBINING = /\p{M}/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Control and format characters, escape sequences among them, become dots. */
export function printableText(text: string): string {
  return text.replace(INVISIBLE, "·");
}

/** Columns that printable text takes. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  // Almost all text is this, and the patterns are slow.
  if (character.charCodeAt(0) < 0x300) return 1;
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Exactly `width` columns: cut with an ellipsis, or filled with spaces. */
export function fitText(text: string, width: number, align: "left" | "right" = "left"): string {
  const clipped = clipText(text, width);
  const gap = " ".repeat(Math.max(0, width - textWidth(clipped)));
  return align === "left" ? clipped + gap : gap + clipped;
}

/** At most `width` columns; an ellipsis stands for what is missing. */
export function clipText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  if (width < 1) return "";
  let clipped = "";
  let left = width - 1;
  for (const character of text) {
    left -= characterWidth(character);
    if (left < 0) break;
    clipped += character;
  }
  return `${clipped}…`;
}
