/** The pages: their place in the rail, the letter that goes there, and the code, fetched when it is first wanted. */
import { signal } from "@preact/signals";
import {
  Activity,
  Boxes,
  Cpu,
  FileJson2,
  GitFork,
  Layers,
  type LucideIcon,
  MailX,
  TableProperties,
  Wrench,
} from "lucide-preact";
import type { ComponentType } from "preact";
import { hubAnswers } from "../data/session.js";
import type { PageProps } from "../pages/page-props.js";

export interface Page {
  readonly name: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** After `g`. */
  readonly letter: string;
  readonly load: () => Promise<ComponentType<PageProps>>;
}

export const PAGES: readonly Page[] = [
  {
    name: "",
    label: "Overview",
    icon: Activity,
    letter: "o",
    load: async () => (await import("../pages/overview/overview.js")).OverviewPage,
  },
  {
    name: "topics",
    label: "Topics",
    icon: Layers,
    letter: "t",
    load: async () => (await import("../pages/topics/topics.js")).TopicsPage,
  },
  {
    name: "groups",
    label: "Groups",
    icon: Boxes,
    letter: "g",
    load: async () => (await import("../pages/groups/groups.js")).GroupsPage,
  },
  {
    name: "dead-letters",
    label: "Dead letters",
    icon: MailX,
    letter: "d",
    load: async () => (await import("../pages/dead-letters/dead-letters.js")).DeadLettersPage,
  },
  {
    name: "views",
    label: "Views",
    icon: TableProperties,
    letter: "v",
    load: async () => (await import("../pages/views/views.js")).ViewsPage,
  },
  {
    name: "schemas",
    label: "Schemas",
    icon: FileJson2,
    letter: "s",
    load: async () => (await import("../pages/schemas/schemas.js")).SchemasPage,
  },
  {
    name: "trace",
    label: "Trace",
    icon: GitFork,
    letter: "r",
    load: async () => (await import("../pages/trace/trace.js")).TracePage,
  },
  {
    name: "operations",
    label: "Operations",
    icon: Wrench,
    letter: "x",
    load: async () => (await import("../pages/operations/operations.js")).OperationsPage,
  },
  {
    name: "processes",
    label: "Processes",
    icon: Cpu,
    letter: "p",
    load: async () => (await import("../pages/processes/processes.js")).ProcessesPage,
  },
];

export function pageOf(path: readonly string[]): Page | undefined {
  return PAGES.find(({ name }) => name === (path[0] ?? ""));
}

const loaded = signal<ReadonlyMap<string, ComponentType<PageProps> | "failed">>(new Map());

/** Its code, if it is here; else it is being fetched. */
export function codeOf(page: Page): ComponentType<PageProps> | "failed" | undefined {
  return loaded.value.get(page.name);
}

/** While the hub is away it is waited for; what it does not have then is of another version. */
export async function fetchCode(page: Page): Promise<void> {
  if (typeof loaded.peek().get(page.name) === "function") return;
  const code = await page.load().catch(async () => {
    await hubAnswers();
    return page.load().catch((error: unknown) => {
      console.error(error);
      return "failed" as const;
    });
  });
  loaded.value = new Map(loaded.peek()).set(page.name, code);
}
