// Problems of settings in the language of the console: a text for each code, and what an administrator reads.

import { assertEquals } from "@std/assert";
import { evaluateSettings } from "../../platform/config/load.ts";
import { type Meaning, PROBLEM_TEXTS, problemOf } from "../../platform/setting_problems.ts";
import { changeFaults } from "../../platform/config/setting_writer.ts";
import { listSettings } from "../../platform/config/list_settings.ts";
import { VALUE_CHECKS } from "../../cli/check_config.ts";
import { settingsFileOf } from "../platform/config/samples.ts";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import type { Catalogue, Language } from "../../console/web/i18n/catalogue.ts";
import { sentenceText } from "../../console/web/pages/settings/setting_problems.ts";

const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, de };
const namesIn = (text: unknown) => new Set(String(text).match(/\{\w+\}/g) ?? []);
const problemsOf = (catalogue: Catalogue) =>
  Object.entries(catalogue).filter(([key]) => key.startsWith("problems."));

Deno.test("the German catalogue has a text for each code of a problem, and no other", () => {
  const codes = problemsOf(de).map(([key]) => key.slice("problems.".length));
  assertEquals(codes.toSorted(), Object.keys(PROBLEM_TEXTS).toSorted());
});

for (const [language, catalogue] of Object.entries(CATALOGUES)) {
  Deno.test(`the texts of problems in ${language}.json have only values that the server sends`, () => {
    const texts: Readonly<Record<string, string>> = PROBLEM_TEXTS;
    const wrong = problemsOf(catalogue).filter(([key, text]) =>
      !namesIn(text).isSubsetOf(namesIn(texts[key.slice("problems.".length)]))
    );
    assertEquals(wrong, []);
  });
}

type Values = Readonly<Record<string, unknown>>;

/** The problems of values that an administrator enters, by key, as the server finds them. */
function problemsOfValues(values: Values, targets: Values = {}) {
  const file = settingsFileOf("", VALUE_CHECKS);
  const { faults, warnings } = evaluateSettings(file, {
    values: new Map(Object.entries(values)),
    targets: new Map(Object.entries(targets)) as ReadonlyMap<string, Readonly<Record<string, unknown>>>,
  });
  const refused = changeFaults(values as Parameters<typeof changeFaults>[0], listSettings(file.found));
  return [...refused, ...faults, ...warnings];
}

const LDAP = { kind: "ldap", url: "ldap://127.0.0.1", users_dn: "ou=people,dc=example,dc=org" };

/** Values, the key with the problem, and its text in both languages. */
const ROWS: readonly {
  readonly values?: Values;
  readonly targets?: Values;
  readonly key: string;
  readonly en: string;
  readonly de: string;
}[] = [
  {
    values: { "radius.conversation_ttl_s": 7 },
    key: "radius.conversation_ttl_s",
    en: "7 is not allowed; it must be a whole number of seconds from 30 to 3600.",
    de: "7 ist nicht erlaubt; erlaubt ist: eine ganze Zahl von 30 bis 3.600 Sekunden.",
  },
  {
    values: { "radius.state": "x" },
    key: "radius.state",
    en: '"x" is not allowed; it must be "auto", "name" or "token".',
    de: '"x" ist nicht erlaubt; erlaubt ist: auto, name, token.',
  },
  {
    values: { "telephony.url": "https://api.example.com" },
    key: "telephony.auth_token",
    en: "It is empty; it must be given, because “Service address” is.",
    de: "Der Wert fehlt; er ist erforderlich, weil “Adresse des Dienstes” angegeben ist.",
  },
  {
    values: { "radius.directory": "gone" },
    key: "radius.directory",
    en: 'There is no directory "gone"; there is "default".',
    de: 'Das Verzeichnis "gone" gibt es nicht; es gibt "default".',
  },
  {
    values: { "radius.first_factor": "ldap", "radius.first_factor_backend": "gone" },
    key: "radius.first_factor_backend",
    en: 'There is no LDAP connector "gone", and the directory default has none.',
    de: 'Den LDAP-Konnektor "gone" gibt es nicht; das Verzeichnis default hat keinen.',
  },
  {
    values: { "second_factor.consumer_secret": "env:HOME" },
    key: "second_factor.consumer_secret",
    en:
      "A value of the console cannot refer to the environment or to a file; enter the value itself, or set " +
      "it in the settings file.",
    de:
      "Ein Wert der Konsole kann sich nicht auf die Umgebung oder eine Datei beziehen; geben Sie den Wert " +
      "selbst ein, oder setzen Sie ihn in der Einstellungsdatei.",
  },
  {
    values: { "radius.reply.default": { "Class": "" } },
    key: 'radius.reply.default."Class"',
    en: "Its value has 0 octets; it must have 1 to 253.",
    de: "Der Wert hat 0 Oktette; erlaubt sind 1 bis 253.",
  },
  {
    targets: { corp: { backends: { ad: { ...LDAP, bind_dn: "cn=x,dc=y" } } } },
    key: "targets.corp.backends.ad.bind_password",
    en: "The bind password is missing; the bind DN is given, and needs it.",
    de: "Das Bind-Passwort fehlt; die Bind-DN ist angegeben und braucht es.",
  },
  {
    targets: { corp: { extensions: "[{}]" } },
    key: "targets.corp.extensions",
    en: "An extension or one of its attributes needs the text id.",
    de:
      "Die Erweiterungen können so nicht verwendet werden (Meldung des Servers: an extension or one of its " +
      "attributes needs the text id).",
  },
  {
    targets: { corp: { extensions: 5 } },
    key: "targets.corp.extensions",
    en:
      "5 is not allowed; it must be the path of a JSON file with a list of schema extensions, or that list of " +
      "at most 24000 characters.",
    de:
      "5 ist nicht erlaubt; erlaubt ist: der Pfad einer JSON-Datei mit einer Liste von Schema-Erweiterungen " +
      "oder diese Liste mit höchstens 24.000 Zeichen.",
  },
  {
    values: { "factors.enabled": [] },
    key: "factors.enabled",
    en: "No factor is offered; no user can log in.",
    de: "Kein Faktor wird angeboten; kein Benutzer kann sich anmelden.",
  },
  {
    values: { "factors.lockout.failures": 10, "factors.lockout.hard_limit": 5 },
    key: "factors.lockout.hard_limit",
    en: "5 is less than “Failed attempts before a lock”, 10; only an administrator unlocks.",
    de: "5 ist weniger als “Fehlversuche bis zur Sperre”, 10; nur ein Administrator entsperrt.",
  },
];

for (const row of ROWS) {
  for (const language of ["en", "de"] as const) {
    Deno.test(`the problem of ${row.key} with ${JSON.stringify(row.values ?? row.targets)} in ${language}`, () => {
      const found = problemsOfValues(row.values ?? {}, row.targets).find(({ key }) => key === row.key);
      try {
        activateCatalogue(language, CATALOGUES[language]);
        assertEquals(found === undefined ? null : sentenceText(found), row[language]);
      } finally {
        activateCatalogue("en", {});
      }
    });
  }
}

Deno.test("a problem with a code that this page does not know has the server's English text", () => {
  activateCatalogue("de", de);
  try {
    assertEquals(sentenceText({ problem: "it is new", code: "from_the_future" }), "It is new.");
  } finally {
    activateCatalogue("en", {});
  }
});

Deno.test("problemOf() sends the code of what is allowed, with its values", () => {
  const means: Meaning = { code: "means_integer", values: { min: 1, max: 5 } };
  assertEquals(problemOf("not_allowed", { value: "9", means }), {
    problem: "9 is not allowed; it must be a whole number from 1 to 5",
    code: "not_allowed",
    values: { value: "9", min: 1, max: 5, means: "means_integer" },
  });
});
