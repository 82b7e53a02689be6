/** Whether what people read is coloured: by what they asked for, else on terminals that can do it. */
import pc from "picocolors";

/** NO_COLOR (https://no-color.org) says no, whatever it is; FORCE_COLOR says yes, or no by "0" and "false". Empty, they say nothing. */
export function isColorWanted(
  { NO_COLOR, FORCE_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  return isTerminal && TERM !== "dumb";
}

export const colors = pc.createColors(isColorWanted(process.env, process.stdout.isTTY === true));
