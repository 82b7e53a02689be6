/** Types of check-floating-promises.mjs, for the tests that import it. */
export function problemsOf(configPath: string, o?: { readonly types?: boolean }): string[];
