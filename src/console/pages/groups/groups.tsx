/** Groups: the list, or one of them. */
import type { PageProps } from "../page-props.js";
import { GroupDetailPage } from "./group-detail.js";
import { GroupList } from "./group-list.js";

export function GroupsPage({ rest }: PageProps) {
  const [group] = rest;
  return group === undefined ? <GroupList /> : <GroupDetailPage key={group} group={group} />;
}
