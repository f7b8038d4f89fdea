// The table of client settings: each row has its messages, and every list of settings uses the table.

import { assertEquals } from "@std/assert";
import { CLIENT_TABLE } from "../../platform/config/list_settings.ts";
import { rowsByKey } from "../../platform/config/setting_rows.ts";
import { NEW_CLIENT } from "../../console/api/clients/client_types.ts";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { CLIENT_FIELDS } from "../../console/web/pages/clients/client_form.ts";
import {
  CLIENT_SETTINGS,
  type ClientSettingRow,
  findAuditedSetting,
} from "../../platform/client_settings.ts";

const ROWS = Object.entries<ClientSettingRow>(CLIENT_SETTINGS);

/** The messages of a setting: the required and the optional ones. */
function messagesOf([name, { console, ...row }]: typeof ROWS[number]) {
  if (console === undefined) return { needed: [], possible: [] };
  const key = `clients.field_${name.replace(".", "_")}`;
  const offered = row.type === "choice" ? console.choices ?? row.of : [];
  return {
    needed: [key, ...offered.map((choice) => `${key}_${choice}`)],
    possible: [`${key}_question`, `${key}_hint`, ...(row.type === "secret" ? [`${key}_kept`] : [])],
  };
}

Deno.test("CLIENT_SETTINGS has the messages of its labels and choices, and the catalogue has no others", () => {
  const messages = ROWS.map(messagesOf);
  const inCatalogue = Object.keys(en).filter((key) => key.startsWith("clients.field_"));
  const needed = messages.flatMap((of) => of.needed);
  assertEquals(needed.filter((key) => !inCatalogue.includes(key)), []);
  const allowed = [...needed, ...messages.flatMap((of) => of.possible)];
  assertEquals(inCatalogue.filter((key) => !allowed.includes(key)), []);
});

Deno.test("findAuditedSetting() finds the setting of each name in the audit log", () => {
  assertEquals(findAuditedSetting("firstFactorServerTimeout"), "firstFactorServer.timeoutMs");
  assertEquals(findAuditedSetting("device"), "device");
  assertEquals(findAuditedSetting("firstFactorServer.timeoutMs"), null);
  assertEquals(findAuditedSetting("constructor"), null);
});

Deno.test("the settings file, the API and the form have exactly the settings of the table", () => {
  const keys = ROWS.flatMap(([, { key }]) => key ?? []);
  assertEquals(Object.keys(rowsByKey(CLIENT_TABLE)), keys);
  const ofConsole = ROWS.filter(([, { console }]) => console !== undefined).map(([name]) => name);
  assertEquals(CLIENT_FIELDS.toSorted(), ofConsole.toSorted());
  const ofApi = new Set(ofConsole.map((name) => name.split(".")[0]));
  assertEquals(new Set(Object.keys(NEW_CLIENT.entries)), new Set([...ofApi, "name", "secret"]));
});
