/** Topics that a piece of upkeep was given by name: one, several, or (null) none, which means all that it concerns. */
import { checkTopicName, type TopicRef, topicName } from "../model/topic.js";

export interface TopicChoice {
  readonly topic?: TopicRef;
  readonly topics?: readonly TopicRef[];
}

export function namedTopics({ topic, topics }: TopicChoice): string[] | null {
  if (topic === undefined && topics === undefined) return null;
  const names = [...(topic === undefined ? [] : [topic]), ...(topics ?? [])].map(topicName);
  for (const name of names) checkTopicName(name);
  return names;
}
