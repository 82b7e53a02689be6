/** `promethean completion`: scripts for shells, made from the commands themselves. */
import { Argument, type Command } from "commander";
import { newCommand } from "../own-command.js";
import { perform, type Session } from "../session.js";

type Commands = Readonly<Record<string, { readonly load: () => Promise<Command> }>>;

interface Node {
  readonly path: string;
  readonly words: readonly string[];
}

/** Of these commands. */
export function completionCommand(commands: Commands): Command {
  return newCommand("completion", "Prints a script that completes commands and options.", [
    "promethean completion bash > ~/.local/share/bash-completion/completions/promethean",
    "promethean completion zsh > ~/.zfunc/_promethean",
    "promethean completion fish > ~/.config/fish/completions/promethean.fish",
  ])
    .addArgument(new Argument("<shell>", "which shell").choices(["bash", "zsh", "fish"]))
    .action(perform<object, [keyof typeof SHELLS]>((session, shell) => print(session, shell, commands)));
}

async function print(session: Session, shell: keyof typeof SHELLS, commands: Commands): Promise<void> {
  const names = Object.keys(commands);
  const nodes: Node[] = [{ path: "", words: [...names, "help", "--help", "--version"] }];
  for (const { load } of Object.values(commands)) nodes.push(...nodesOf(await load(), ""));
  session.out.line(SHELLS[shell](nodes));
}

function nodesOf(command: Command, above: string): Node[] {
  const path = above === "" ? command.name() : `${above} ${command.name()}`;
  const options = command.options.flatMap(({ long }) => (long ? [long] : []));
  const subs = command.commands.map((sub) => sub.name());
  return [
    { path, words: [...subs, ...options, "--help"] },
    ...command.commands.flatMap((sub) => nodesOf(sub, path)),
  ];
}

function cases(nodes: readonly Node[]): string {
  return nodes.map(({ path, words }) => `    "${path}") candidates="${words.join(" ")}" ;;`).join("\n");
}

/** The commands said so far, two at most; then what may follow them, or else what may follow the first. */
const FIND = (
  nodes: readonly Node[],
): string => `    [[ "$word" == -* || "$said" == *" "* ]] || said="\${said:+$said }$word"
  done
  case "$said" in
${cases(nodes)}
  esac
  [[ -n "$candidates" ]] || case "\${said%% *}" in
${cases(nodes)}
  esac`;

const SHELLS = {
  bash: (nodes: readonly Node[]) => `# promethean completion for bash
_promethean() {
  local word said="" candidates="" current="\${COMP_WORDS[COMP_CWORD]}"
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${FIND(nodes)}
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _promethean promethean`,
  zsh: (nodes: readonly Node[]) => `#compdef promethean
_promethean() {
  local word said="" candidates=""
  for word in "\${(@)words[2,CURRENT-1]}"; do
${FIND(nodes)}
  compadd -- \${(s: :)candidates}
}
compdef _promethean promethean`,
  fish: (nodes: readonly Node[]) =>
    [
      "# promethean completion for fish",
      ...nodes.flatMap(({ path, words }) =>
        words.map((word) => `complete -c promethean -n '${fishCondition(path)}' -a '${word}' -f`),
      ),
    ].join("\n"),
} as const;

function fishCondition(path: string): string {
  if (path === "") return "__fish_use_subcommand";
  return path
    .split(" ")
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join("; and ");
}
