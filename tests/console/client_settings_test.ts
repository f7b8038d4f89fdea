// The table of client settings: each row has its words, and every part of the product that lists the settings takes them from it.

import { assert, assertEquals } from "@std/assert";
import { CLIENT_ROWS } from "../../platform/config/client_rows.ts";
import { NEW_CLIENT } from "../../console/api/clients/client_types.ts";
import { CLIENT_FIELDS } from "../../console/web/models/client_form.ts";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { clientSettingMessages } from "../fakes/client_setting_messages.ts";
import { CLIENT_SETTINGS, type ClientSettingRow } from "../../platform/client_settings.ts";

const ROWS = Object.entries<ClientSettingRow>(CLIENT_SETTINGS);

for (const [language, messages] of Object.entries({ de, en })) {
  Deno.test(`CLIENT_SETTINGS has the messages of its labels, hints and choices in ${language}`, () => {
    for (const [name, keys] of Object.entries(clientSettingMessages())) {
      for (const key of keys) assert(key in messages, `${name}: ${key}`);
    }
  });
}

Deno.test("CLIENT_SETTINGS has a label of the audit log for every top-level setting of the console", () => {
  for (const [name, { console }] of ROWS) {
    if (console !== undefined && !name.includes(".")) assert(`govern.part_${name}` in en, name);
  }
});

Deno.test("the settings file, the API and the form have the settings of the table", () => {
  const keys = ROWS.flatMap(([, { key }]) => key ?? []);
  assertEquals(Object.keys(CLIENT_ROWS), keys);
  const ofConsole = ROWS.filter(([, { console }]) => console !== undefined).map(([name]) => name);
  assertEquals(CLIENT_FIELDS.toSorted(), ofConsole.toSorted());
  const ofApi = new Set(ofConsole.map((name) => name.split(".")[0]));
  assertEquals(new Set(Object.keys(NEW_CLIENT.entries)), new Set([...ofApi, "name", "secret"]));
});
