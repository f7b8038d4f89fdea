// Each message of the catalogues is used: its key is in the code, or it fits a template such as `login.step_${step}`.

import { assertEquals } from "@std/assert";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { RECEIVER_FIELDS } from "../../platform/alerts/alert_kinds.ts";
import type { Fields } from "../../platform/fields.ts";
import { CONNECTION_FIELDS } from "../../scim/v2/connections/connection_settings.ts";
import { DESTINATION_FIELDS, NEW_DESTINATION_FIELDS } from "../../platform/log_export/destination_choices.ts";

const CONSOLE = new URL("../../console/", import.meta.url);
const COMMENT = /^\s*(?:\/\/|\/?\*).*$/gm;
const LITERAL = /["'`]([a-z]+\.\w+)["'`]/g;
const TEMPLATE = /`([a-z]+\.(?:\w|\$\{[^`}]*\})+)`/g;
const INSERTION = /\$\{[^}]*\}/;

/** "Permission" is a common message. */
const { access: _common, ...CONNECTION_FORM } = CONNECTION_FIELDS;
/** The forms that are made of fields, by the template of their messages. `labelled`: their choices have other messages. */
const FORMS: Readonly<Record<string, { readonly fields: Fields; readonly labelled: readonly string[] }>> = {
  "logexport.${name}": {
    fields: { ...DESTINATION_FIELDS, ...NEW_DESTINATION_FIELDS },
    labelled: ["pastHours"],
  },
  "connections.field_${name}": { fields: CONNECTION_FORM, labelled: ["adoption"] },
  "alerts.${name}": { fields: RECEIVER_FIELDS, labelled: ["language", "kinds"] },
};

/** The names of the messages that the form of fields shows. */
function namesOfForm({ fields, labelled }: typeof FORMS[string]): string[] {
  const names = Object.entries(fields).flatMap(([field, row]) => {
    const name = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const choices = "of" in row && !labelled.includes(field) ? row.of : [];
    return [
      name,
      ...row.hasHint === true ? [`${name}_hint`] : [],
      ...row.type === "secret" ? ["keep_hint"] : [],
      ...choices.map((choice) => `${name}_${choice}`),
    ];
  });
  return [...new Set(names)];
}

/** What a template inserts where its fixed part does not tell which messages it means. */
const INSERTED: Readonly<Record<string, string>> = {
  "approve.${view.kind}": "unknown|no_service",
  "login.${name}": "accepted|rejected|expired|cancelled|superseded",
  "live.${signature}": "signed|unsigned|unchecked|tls",
  "shell.${why}": "page_unloaded|page_broken",
  "shell.${group}": "monitor|directory|integrations|administration",
  "audit.${name}_${one}": "(?:because|by|how|kind|access|problem|template)_\\w+",
  "audit.${name}_${value}": "(?:decidedBy|access)_\\w+",
  "settings.${unit}": "days|hours|octets",
  "users.${action}": "rename|revoke",
  "users.${name}_${option}": "(?:status|enrolled|inactive|sync)_\\w+",
  "firstrun.${name}": "client|target|login",
  "firstrun.${state}": "done|open|skipped",
  "firstrun.${step.name}": "client|target|login",
  "errors.${code}": "\\w+",
  "problems.${code}": "\\w+",
  "errors.${TranslatedCode}": "\\w+",
  ...Object.fromEntries(
    Object.entries(FORMS).map((
      [template, form],
    ) => [
      template,
      `${template.slice(template.indexOf(".") + 1, -"${name}".length)}(?:${namesOfForm(form).join("|")})`,
    ]),
  ),
};
/** A type, not a message. */
const KEY_TYPE = /\$\{string\}/;
/** These only happen to have the texts of another message: fields of forms, and words with another meaning. */
const SEPARATE = new Set([
  ...["alerts.address", "alerts.url"],
  ...[
    "alerts.which",
    "clients.address",
    "clients.heard_from",
    "connections.kind",
  ],
  ...["connections.field_paused", "device.from", "enrolment.preview", "health.figure", "import.row_created"],
  ...["import.skip", "settings.file_none", "targets.no_extensions", "users.no_default", "account.this_phone"],
]);
/** Messages for error codes: the server decides which of them appear. */
const ERROR = /^errors\./;

async function sourcesBelow(folder: URL): Promise<string[]> {
  const texts: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory && name !== "dist") texts.push(...await sourcesBelow(new URL(`${name}/`, folder)));
    else if (/\.tsx?$/.test(name)) {
      texts.push((await Deno.readTextFile(new URL(name, folder))).replace(COMMENT, ""));
    }
  }
  return texts;
}

function patternOf(template: string): RegExp {
  const [area = ""] = template.split(".", 1);
  const inserted = INSERTED[template];
  if (inserted !== undefined) return new RegExp(`^${area}\\.(?:${inserted})$`);
  const parts = template.split(INSERTION);
  return new RegExp(`^${parts.join("\\w+")}$`);
}

const source = (await sourcesBelow(CONSOLE)).join("\n");
const templates = new Set(
  [...source.matchAll(TEMPLATE)].map(([, template = ""]) => template).filter((one) => !KEY_TYPE.test(one)),
);

Deno.test("each message is used by the code of the console", () => {
  const literals = new Set([...source.matchAll(LITERAL)].map(([, key = ""]) => key));
  const patterns = [...templates].map(patternOf);
  const unused = Object.keys(en).filter((key) =>
    !ERROR.test(key) && !literals.has(key) &&
    !patterns.some((pattern) => pattern.test(key))
  );
  assertEquals(unused, []);
});

Deno.test("no two messages have the same texts in both languages: common texts are in the area common", () => {
  const patterns = [...templates].map(patternOf);
  const keys = new Map<string, string[]>();
  for (const [key, english] of Object.entries(en)) {
    if (SEPARATE.has(key) || patterns.some((pattern) => pattern.test(key))) continue;
    const texts = JSON.stringify([english, de[key as keyof typeof en]]);
    keys.set(texts, [...keys.get(texts) ?? [], key]);
  }
  assertEquals([...keys.values()].filter(({ length }) => length > 1), []);
});

Deno.test("each field of a form has its messages in every language", () => {
  for (const [template, form] of Object.entries(FORMS)) {
    const needed = namesOfForm(form).map((name) => template.replace("${name}", name));
    assertEquals(needed.filter((key) => !(key in en) || !(key in de)), []);
  }
});

Deno.test("each exception for a template belongs to a template of the code, and finds a message", () => {
  for (const template of Object.keys(INSERTED)) {
    assertEquals(templates.has(template), true, template);
    const pattern = patternOf(template);
    assertEquals(Object.keys(en).some((key) => pattern.test(key)), true, template);
  }
});

Deno.test("each template that inserts the whole name of a message has an exception", () => {
  const areas = new Set(Object.keys(en).map((key) => key.split(".", 1)[0]));
  const open = [...templates].filter((template) => {
    const [area = "", name = ""] = template.split(/\.(.*)/s);
    return areas.has(area) && /^_*$/.test(name.replaceAll(/\$\{[^}]*\}/g, ""));
  });
  assertEquals(open.filter((template) => !(template in INSERTED)), []);
});
