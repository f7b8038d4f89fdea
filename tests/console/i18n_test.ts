// The message catalogues: the same keys and placeholders in each language, and a message for every code of the server.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ALL_SETTINGS } from "../../platform/config/list_settings.ts";
import { ERROR_CODES, type ErrorRow } from "../../console/api/error_codes.ts";
import { CATALOGUES as BUNDLED } from "../../console/build/build.ts";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import {
  type Catalogue,
  formatMessage,
  type Language,
  type Message,
} from "../../console/web/i18n/catalogue.ts";
import {
  activateCatalogue,
  errorMessage,
  findMessage,
  loadMessages,
  locale,
  switchLanguage,
  t,
} from "../../console/web/i18n/translate.ts";
import { REQUEST_REFUSALS } from "../../radius/server/request.ts";
import { DROP_REASONS } from "../../radius/protocol/drop_reasons.ts";

const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, de };
/** In English, the table of the API has the messages of these codes. */
const TRANSLATED_ERRORS: ReadonlySet<string> = new Set(
  Object.entries<ErrorRow>(ERROR_CODES).filter(([, { isDetailed }]) => !isDetailed)
    .map(([code]) => `errors.${code}`),
);

/** In English, the API has the texts of the problems of settings. The console has those that use its own words. */
const isProblem = (key: string) => key.startsWith("problems.");

const textsOf = (message: Message) => typeof message === "string" ? [message] : [message.one, message.other];
const placeholdersOf = (message: Message) =>
  [...new Set(textsOf(message).flatMap((text) => text.match(/\{\w+\}/g) ?? []))].toSorted();

for (const [language, catalogue] of Object.entries(CATALOGUES)) {
  const rows = Object.entries(catalogue).filter(([key]) => !TRANSLATED_ERRORS.has(key) && !isProblem(key));

  Deno.test(`the catalogue ${language}.json has the keys of en.json, sorted, and no empty text`, () => {
    assertEquals(rows.map(([key]) => key), Object.keys(en).filter((key) => !isProblem(key)).toSorted());
    assertEquals(Object.keys(catalogue), Object.keys(catalogue).toSorted());
    assertEquals(rows.filter(([, message]) => textsOf(message).includes("")), []);
    for (const [key] of rows) assert(/^[a-z]+\.\w+$/.test(key), key);
  });

  Deno.test(`the catalogue ${language}.json has the placeholders and plural forms of en.json`, () => {
    for (const [key, message] of rows) {
      const original = CATALOGUES.en[key] ?? "";
      assertEquals(placeholdersOf(message), placeholdersOf(original), key);
      assertEquals(typeof message, typeof original, key);
    }
  });

  Deno.test(`the bundled catalogue of ${language} has a message for each error code, except detailed ones`, () => {
    const bundled = BUNDLED[language as Language];
    assertEquals([...TRANSLATED_ERRORS].filter((key) => !bundled[key]), []);
    const ofBrowser = Object.keys(en).filter((key) => key.startsWith("errors."));
    const all = Object.keys(bundled).filter((key) => key.startsWith("errors."));
    assertEquals(all.toSorted(), [...TRANSLATED_ERRORS, ...ofBrowser].toSorted());
  });

  Deno.test(`the catalogue ${language}.json has a title for every reason to drop or refuse a packet`, () => {
    const reasons = [...Object.keys(DROP_REASONS), ...Object.keys(REQUEST_REFUSALS)];
    assert(reasons.length > 20);
    assertEquals(reasons.filter((reason) => !(`explain.title_${reason}` in catalogue)), []);
  });
}

Deno.test("each catalogue has a label and a sentence for each setting, and for nothing else", () => {
  const slugs = [...ALL_SETTINGS.keys()].map((key) => key.replaceAll(".", "_"));
  for (const [language, catalogue] of Object.entries(CATALOGUES)) {
    for (const start of ["settings.name_", "settings.help_"]) {
      const keys = Object.keys(catalogue).filter((key) => key.startsWith(start));
      assertEquals(keys, slugs.map((slug) => start + slug).toSorted(), language);
    }
    const sentences = slugs.map((slug) => catalogue[`settings.help_${slug}`]);
    assertEquals(sentences.filter((text) => typeof text !== "string" || !text.endsWith(".")), [], language);
  }
});

Deno.test("each catalogue has a label for each choice of a setting", () => {
  const keys = [...ALL_SETTINGS].flatMap(([key, row]) =>
    ("of" in row ? row.of : []).map((choice) => `settings.option_${key.replaceAll(".", "_")}_${choice}`)
  );
  for (const [language, catalogue] of Object.entries(CATALOGUES)) {
    const labels = Object.keys(catalogue).filter((key) => /^settings\.option_(?!default$)/.test(key));
    assertEquals(labels, keys.toSorted(), language);
  }
});

/** The details of audit records besides actor, action, object, before and after; `conversation` is a link. */
const DETAILS = {
  "a login": ["row", "because", "factor"],
  "a lock": ["hard", "failures", "locks"],
  "a pairing": ["kind", "pairing", "factor", "number", "because", "deadlineMs"],
  "the directory": ["target", "changed", "backends", "added", "removed", "count"],
  "a refresh": ["created", "updated", "unchanged", "vanished", "deleted", "faults", "tookMs"],
} as const;
for (const [what, names] of Object.entries(DETAILS)) {
  Deno.test(`the catalogues have a label for each detail of an audit record of ${what}`, () => {
    for (const [language, catalogue] of Object.entries(CATALOGUES)) {
      assertEquals(names.filter((name) => !(`audit.detail_${name}` in catalogue)), [], language);
    }
  });
}

Deno.test("t() shows the key without a catalogue, and findMessage() and errorMessage() return null", () => {
  assertEquals([t("common.undo"), findMessage("common.undo"), errorMessage("offline")], [
    "common.undo",
    null,
    null,
  ]);
  try {
    activateCatalogue("de", de);
    assertEquals([t("common.undo"), findMessage("common.undo")], [de["common.undo"], de["common.undo"]]);
    assertEquals(errorMessage("changed_meanwhile"), de["errors.changed_meanwhile"]);
    assertEquals([errorMessage("no_such_code"), findMessage("constructor")], [null, null]);
    assertEquals(locale().slice(0, 2), "de");
  } finally {
    activateCatalogue("en", {});
  }
});

/** Answers each request for messages with `language:name` as the only text, when `released` is resolved. */
async function withMessages(test: (asked: string[], released: PromiseWithResolvers<void>) => Promise<void>) {
  const original = globalThis.fetch;
  const asked: string[] = [];
  const released = Promise.withResolvers<void>();
  globalThis.fetch = async (input) => {
    const [, name = "", language = ""] = /messages-(\w+)-(\w+)\.json$/.exec(String(input)) ?? [];
    asked.push(`${language}:${name}`);
    if (name === "away") return new Response(null, { status: 404 });
    if (name === "moved" && asked.length === 1) throw new TypeError("net::ERR_NETWORK_CHANGED");
    if (name === "slow") await released.promise;
    return Response.json({ [`common.${name}`]: `${language}:${name}` });
  };
  Object.assign(globalThis, { document: { documentElement: { lang: "" } } });
  try {
    await test(asked, released);
  } finally {
    globalThis.fetch = original;
    Reflect.deleteProperty(globalThis, "document");
    localStorage.removeItem("countersign-language");
    activateCatalogue("en", {});
  }
}

Deno.test("loadMessages() adds the messages of a page, and switchLanguage() loads those of all pages again", async () => {
  await withMessages(async (asked) => {
    await loadMessages("messages-frame");
    await loadMessages("messages-users");
    assertEquals([findMessage("common.frame"), findMessage("common.users")], ["en:frame", "en:users"]);
    await switchLanguage("de");
    assertEquals([findMessage("common.frame"), findMessage("common.users")], ["de:frame", "de:users"]);
    assertEquals(asked, ["en:frame", "en:users", "de:frame", "de:users"]);
    await assertRejects(() => loadMessages("messages-away"), Error, "status 404");
    assertEquals(findMessage("common.frame"), "de:frame");
    await assertRejects(() => switchLanguage("en"), Error, "status 404");
    assertEquals(findMessage("common.frame"), "de:frame");
  });
});

Deno.test("loadMessages() takes the language that the user selects during the load", async () => {
  await withMessages(async (asked, released) => {
    const loading = loadMessages("messages-slow");
    activateCatalogue("de", { "common.undo": "de:undo" });
    released.resolve();
    await loading;
    assertEquals([findMessage("common.slow"), findMessage("common.undo")], ["de:slow", "de:undo"]);
    assertEquals(asked, ["en:slow", "de:slow"]);
  });
});

Deno.test("loadMessages() repeats a request that the browser aborts", async () => {
  await withMessages(async (asked) => {
    await loadMessages("messages-moved");
    assertEquals(asked, ["en:moved", "en:moved"]);
    assertEquals(findMessage("common.moved"), "en:moved");
  });
});

Deno.test("formatMessage() inserts values unchanged, and keeps a placeholder without a value", () => {
  const text = (message: Message, values: Record<string, string | number>) =>
    formatMessage(message, { language: "en", values });
  assertEquals(
    text("{name} has {count}", { name: "<b>{count}</b>", count: 1234 }),
    "<b>{count}</b> has 1,234",
  );
  assertEquals(text("{a} and {b}", { a: "x" }), "x and {b}");
  assertEquals(formatMessage("{count}", { language: "de", values: { count: 1234 } }), "1.234");
});

Deno.test("formatMessage() selects the plural form of the language", () => {
  const message = { one: "{count} login", other: "{count} logins" };
  const of = (count: number) => formatMessage(message, { language: "en", values: { count } });
  assertEquals([0, 1, 2].map(of), ["0 logins", "1 login", "2 logins"]);
});
