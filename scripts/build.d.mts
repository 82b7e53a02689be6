/** Brings dist/ up to date; false when there was nothing to do. */
export function buildIfChanged(say: (line: string) => void): boolean;
/** The console alone; false when there was nothing to do. */
export function buildConsoleIfChanged(say: (line: string) => void): boolean;
