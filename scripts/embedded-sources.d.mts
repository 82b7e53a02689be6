/** The compiled form of `source`, a file: URL of a .ts module; `others` are modules it starts by their URL. */
export function compileModule(source: URL, others?: readonly URL[]): URL;
/** As `compileModule`, for a program that uses the embedded store. */
export function compileProgram(source: URL): URL;
