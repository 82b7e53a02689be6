/** Topic names, patterns and rights against matchers so simple that they are plainly right. */
import { takesIn } from "../../../src/bus/subscriptions.js";
import { Acl, type Rule, type Verb } from "../../../src/hub/auth/acl.js";
import {
  baseTopic,
  checkTopicName,
  checkTopicPattern,
  isPattern,
  matchesTopic,
} from "../../../src/model/topic.js";
import type { Kind } from "./fuzz.js";
import type { Noise } from "./noise.js";

const SEGMENTS = ["a", "b", "dlq", "snapshot", "v1", "a-b"];
const VERBS: readonly Verb[] = ["publish", "subscribe", "read", "group", "ops"];

/** Every way to share out the topic's segments, tried one by one. */
function naiveMatch(pattern: readonly string[], topic: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return topic.length === 0;
  if (first === "**") return topic.some((_, i) => naiveMatch(rest, topic.slice(i))) || naiveMatch(rest, []);
  return topic.length > 0 && (first === "*" || first === topic[0]) && naiveMatch(rest, topic.slice(1));
}

function isName(text: string): boolean {
  const segments = text.split(".");
  return segments.every(
    (segment) =>
      segment !== "" && [...segment].every((c) => "abcdefghijklmnopqrstuvwxyz0123456789-".includes(c)),
  );
}

const someTopic = (noise: Noise): string =>
  [noise.pick(SEGMENTS), ...noise.many(3, () => noise.pick(SEGMENTS))].join(".");
const somePattern = (noise: Noise): string =>
  [...Array(1 + noise.below(4))].map(() => noise.pick([...SEGMENTS, "*", "**", "*", "**"])).join(".");

/** A name is taken exactly if it looks like one. */
export const topicNames: Kind = {
  name: "topic names",
  codes: ["INVALID_TOPIC"],
  make: (noise) =>
    noise.chance(0.5) ? noise.torn(someTopic(noise)) : noise.chance(0.5) ? someTopic(noise) : noise.json(1),
  run: (input) => {
    checkTopicName(input);
    if (!isName(input)) throw new Error(`it was taken for a name: ${JSON.stringify(input)}`);
  },
  refused: (input) => {
    if (typeof input === "string" && isName(input) && input.length <= 200) return "a good name was refused";
    return undefined;
  },
};

export const topicPatterns: Kind = {
  name: "topic patterns",
  codes: ["INVALID_TOPIC"],
  make: (noise) => {
    const pattern = noise.chance(0.2) ? noise.torn(somePattern(noise)) : somePattern(noise);
    return { pattern, topic: someTopic(noise) };
  },
  run: (input) => {
    const { pattern, topic } = input as { pattern: string; topic: string };
    checkTopicPattern(pattern);
    const wanted = naiveMatch(pattern.split("."), topic.split("."));
    if (matchesTopic(pattern, topic) !== wanted) throw new Error(`${pattern} and ${topic}: not ${wanted}`);
  },
};

interface Question {
  readonly scopes: readonly string[];
  readonly rules: readonly Rule[];
  readonly verb: Verb;
  readonly topic: string;
  readonly pattern: string;
}

/**
 * What the rules say, word by word: deny wins, what nothing allows is denied, `dlq.x` and `x.snapshot` are as `x`. A group is denied
 * only where others are allowed by name.
 */
function naiveAllows({ scopes, rules, verb, topic }: Question): boolean {
  const all: Rule[] = [
    ...scopes.map((scope): Rule => {
      const [word = "", resource = ""] = scope.split(":");
      return { effect: "allow", verbs: [word as Verb], resources: [resource] };
    }),
    ...rules,
  ];
  const isGroup = verb === "group";
  const name = verb === "ops" || isGroup ? topic : baseTopic(topic);
  const allows = ({ effect }: Rule): boolean => effect === "allow";
  const fits = ({ verbs, resources }: Rule): boolean =>
    verbs.some((v) => (v === "*" && !isGroup) || v === verb || (v === "subscribe" && verb === "read")) &&
    resources.some((r) => r === "*" || naiveMatch(r.split("."), name.split(".")));
  const isOpen = isGroup && !all.some((r) => allows(r) && r.verbs.includes("group"));
  return (isOpen || all.some((r) => allows(r) && fits(r))) && !all.some((r) => !allows(r) && fits(r));
}

export const rights: Kind = {
  name: "rights",
  codes: ["INVALID_OPTION"],
  make: (noise) => {
    const scope = (): string => `${noise.pick([...VERBS, "*"])}:${somePattern(noise)}`;
    const rule = (): Rule => ({
      effect: noise.chance(0.7) ? "allow" : "deny",
      verbs: [noise.pick([...VERBS, "*"] as const)],
      resources: [somePattern(noise)],
    });
    const scopes = noise.many(3, () => (noise.chance(0.05) ? noise.torn(scope()) : scope()));
    // Most often one of the patterns that were granted, or a topic near it: there the rules meet.
    const granted = scopes.map((one) => one.slice(one.indexOf(":") + 1));
    return {
      scopes,
      rules: noise.many(2, rule),
      verb: noise.pick(VERBS),
      topic: someTopic(noise),
      pattern: granted.length > 0 && noise.chance(0.6) ? noise.pick(granted) : somePattern(noise),
    };
  },
  run: (input) => {
    const question = input as Question;
    const { verb, topic, pattern } = question;
    const acl = new Acl(question);
    if (question.scopes.every((scope) => /^[a-z*]+:[^:]+$/.test(scope))) {
      const wanted = naiveAllows(question);
      for (const time of ["first", "second"])
        if (acl.allows(verb, topic) !== wanted) throw new Error(`not ${wanted} the ${time} time`);
    }
    // A pattern never opens what would be closed by name.
    if (
      verb !== "group" &&
      isPattern(pattern) &&
      takesIn(pattern, topic) &&
      acl.allowsPattern(verb, pattern) &&
      !acl.allows(verb, topic)
    )
      throw new Error(`${pattern} opens ${topic}, which is closed`);
  },
};
