/** "status=paid total>=100 name^=Ad" as the parameters of a search. Pure. */

const TERM = /^([\w.$-]+?)(>=|<=|!=|\^=|=|>|<)(.*)$/;
const OPERATORS: Readonly<Record<string, string>> = {
  "=": "",
  "!=": "[ne]",
  ">": "[gt]",
  ">=": "[gte]",
  "<": "[lt]",
  "<=": "[lte]",
  "^=": "[prefix]",
};

export interface Where {
  readonly params: Readonly<Record<string, string>>;
  readonly wrong?: string;
}

export function whereOf(text: string): Where {
  const params: Record<string, string> = {};
  for (const term of text.match(/(?:"[^"]*"|\S)+/g) ?? []) {
    const [, field, operator = "", value] = TERM.exec(term) ?? [];
    if (field === undefined || value === undefined)
      return {
        params: {},
        wrong: `"${term}" names no field: write field=value, field>value or field^=prefix.`,
      };
    params[`where.${field}${OPERATORS[operator] ?? ""}`] = value;
  }
  return { params };
}
