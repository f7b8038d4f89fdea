// What the palette finds besides pages and commands: users, objects of the gateway, and settings by label, key and meaning.

import type { FoundItem, FoundKind } from "../../api/find/find_routes.ts";
import { t } from "../i18n/translate.ts";
import { take } from "./api_client.ts";
import type { Models } from "./app_context.ts";
import { userHref } from "./routes.ts";

/** An object with a page of its own, or a place on a page. */
export interface FoundPlace {
  readonly id: string;
  readonly label: string;
  /** "Client", "Group": what it is. */
  readonly kind: string;
  readonly href: string;
}

const MAX_USERS = 8;
const MAX_SETTINGS = 6;
/** A shorter text is in nearly every setting. */
const MIN_SETTING_TEXT = 3;

const HREFS: Readonly<Record<FoundKind, (item: FoundItem) => string>> = {
  client: ({ name }) => `/clients/${encodeURIComponent(name)}`,
  group: ({ name, detail }) => `/groups/${encodeURIComponent(name)}?target=${encodeURIComponent(detail)}`,
  directory: ({ name }) => `/targets/${encodeURIComponent(name)}`,
  connector: ({ detail }) => `/targets/${encodeURIComponent(detail)}`,
  connection: ({ name }) => `/connections/${encodeURIComponent(name)}`,
  policy: () => "/policies",
  sign_in: ({ name }) => `/live/c/${encodeURIComponent(name)}`,
  caller: ({ name }) => `/history?place=${encodeURIComponent(name)}`,
};

/** Finds everything that fits a text, in the order of the palette. A source that does not answer is left out. */
export function createFinder(models: Models): (text: string) => Promise<readonly FoundPlace[]> {
  let settings: ReturnType<typeof readSettings> | null = null;
  return async (text) => {
    const found = await Promise.allSettled([
      findObjects(models, text),
      findUsers(models, text),
      text.length < MIN_SETTING_TEXT ? [] : (settings ??= readSettings(models)).then((find) => find(text)),
    ]);
    return found.flatMap((one) => one.status === "fulfilled" ? one.value : []);
  };
}

async function findObjects({ api }: Models, text: string): Promise<readonly FoundPlace[]> {
  const { items } = await take(api.find.$get({ query: { q: text } }));
  return items.map((item) => ({
    id: `${item.kind}:${item.detail}:${item.name}`,
    label: labelOf(item),
    kind: t(`shell.found_${item.kind}`),
    href: HREFS[item.kind](item),
  }));
}

function labelOf({ kind, name, detail }: FoundItem): string {
  if (kind === "policy") return `${name} · ${t(`shell.found_outcome_${detail as "deny"}`)}`;
  return detail === "" ? name : `${name} · ${detail}`;
}

async function findUsers({ api }: Models, text: string): Promise<readonly FoundPlace[]> {
  const { rows } = await take(api.users.$get({ query: { q: text, size: String(MAX_USERS) } }));
  return rows.map(({ name, displayName }) => ({
    id: `user:${name}`,
    label: displayName === "" || displayName === name ? name : `${name} · ${displayName}`,
    kind: t("shell.found_user"),
    href: userHref(name),
  }));
}

/** Reads the settings once. Their labels and meanings are messages of their page. */
async function readSettings({ api, pages }: Models): Promise<(text: string) => readonly FoundPlace[]> {
  const [{ settings }, { isSettingFound }, { settingName }, { settingHref, topicLabel, settingTopic }] =
    await Promise.all([
      take(api.settings.$get()),
      import("../pages/settings/setting_form.ts"),
      import("../pages/settings/setting_labels.ts"),
      import("../pages/settings/setting_topics.ts"),
      pages.prepare("/settings"),
    ]);
  return (text) =>
    settings.filter((one) => isSettingFound(one, text)).slice(0, MAX_SETTINGS).map((one) => ({
      id: `setting:${one.key}`,
      label: `${settingName(one)} · ${t(topicLabel(settingTopic(one)))}`,
      kind: t("shell.found_setting"),
      href: settingHref(one),
    }));
}
