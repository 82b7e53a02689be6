/** Colours that tell owners and groups apart; the name always stands beside them. */

const HUES = [28, 215, 160, 280, 345, 95, 190, 250, 55, 310];

export function ownerColor(index: number): string {
  return `light-dark(hsl(${HUES[index % HUES.length]} 75% 45%), hsl(${HUES[index % HUES.length]} 80% 65%))`;
}
