/** Dead letters: of all topics, or of one. */
import type { PageProps } from "../page-props.js";
import { LetterTopics } from "./letter-topics.js";
import { TopicLetters } from "./topic-letters.js";

export function DeadLettersPage({ rest }: PageProps) {
  const [topic] = rest;
  return topic === undefined ? <LetterTopics /> : <TopicLetters key={topic} topic={topic} />;
}
