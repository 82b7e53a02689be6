/** The bundled form of `source`, a file: URL of a .ts module; `others` are modules it starts by their URL. */
export function compileModule(source: URL, others?: readonly URL[]): Promise<URL>;
/** As `compileModule`, for a program that uses the embedded store. */
export function compileProgram(source: URL): Promise<URL>;
