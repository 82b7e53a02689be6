/** Topics: the list, or one of them. */
import type { PageProps } from "../page-props.js";
import { TopicDetailPage } from "./topic-detail.js";
import { TopicList } from "./topic-list.js";

export function TopicsPage({ rest }: PageProps) {
  const [topic] = rest;
  return topic === undefined ? <TopicList /> : <TopicDetailPage key={topic} topic={topic} />;
}
