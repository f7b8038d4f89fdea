// The topics of the Settings page, their addresses, and the addresses of single settings.

import type { MessageKey } from "../../i18n/catalogue.ts";

/** In the order of the page. The last two have no settings of the server. */
export const TOPIC_NAMES = [
  "sign_in",
  "factors",
  "limits",
  "enrolment",
  "alerts",
  "telephony",
  "second_factor",
  "mail",
  "radius",
  "console",
  "system",
  "appearance",
  "about",
] as const;
export type TopicName = typeof TOPIC_NAMES[number];

/** Addresses of 0.2: `/settings#retention`. */
const OLD_ANCHORS: Readonly<Record<string, TopicName>> = {
  retention: "system",
  radius: "radius",
  look: "appearance",
  about: "about",
};

/** The topic of an address; the first one if it names none. */
export function topicOf(segment: string, hash: string): TopicName {
  const old = segment === "" && Object.hasOwn(OLD_ANCHORS, hash) ? OLD_ANCHORS[hash] : undefined;
  return TOPIC_NAMES.find((topic) => topic === segment) ?? old ?? TOPIC_NAMES[0];
}

export function topicHref(topic: TopicName): string {
  return `/settings/${topic}`;
}

export function topicLabel(topic: TopicName): MessageKey {
  return `settings.topic_${topic}`;
}

/** The topic of a setting. A topic of a newer server is shown with the system settings. */
export function settingTopic({ topic }: { readonly topic: string }): TopicName {
  return TOPIC_NAMES.find((one) => one === topic) ?? "system";
}

/** `/settings/limits#factors.lockout.failures` */
export function settingHref(setting: { readonly topic: string; readonly key: string }): string {
  return `${topicHref(settingTopic(setting))}#${setting.key}`;
}
