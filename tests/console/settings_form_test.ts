// The settings form: what a control shows, which value a text is, and which edits are changes.

import { assertEquals } from "@std/assert";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { activateCatalogue } from "../../console/web/i18n/translate.ts";
import {
  changesOfDraft,
  defaultText,
  type DraftValue,
  editDraft,
  isEdited,
  isSettingFound,
  isUsed,
  namesFor,
  NO_DRAFT,
  readDraft,
  settingHelp,
  settingValueText,
  shownDraft,
} from "../../console/web/pages/settings/setting_form.ts";
import { sentenceText, settingName } from "../../console/web/pages/settings/setting_problems.ts";
import { settingHref, topicOf } from "../../console/web/pages/settings/setting_topics.ts";
import { type ControlRow, settingOf } from "../fakes/setting_rows.ts";

// Group: english
activateCatalogue("en", en);

const NUMBER: ControlRow = { control: { kind: "number", min: 1, max: 60, unit: "s" }, preset: 10, value: 10 };
const TEXT: ControlRow = { control: { kind: "text", max: 20 }, preset: "VPN", value: "VPN" };
const LIST: ControlRow = { control: { kind: "list", max: 10 }, preset: [], value: [] };
const SWITCH: ControlRow = { control: { kind: "switch" }, preset: true, value: true };
const CHOICE: ControlRow = { control: { kind: "choice", choices: ["a", "b"] }, preset: "a", value: "a" };
const CHOICES: ControlRow = {
  control: { kind: "choices", choices: ["a", "b"] },
  preset: ["a"],
  value: ["a"],
};
const SECRET: ControlRow = { control: { kind: "secret" }, preset: null, value: null, isSecret: true };
const TABLE: ControlRow = { control: { kind: "attributes" }, preset: {}, value: {} };
const RANGE = "Enter a whole number from 1 to 60.";

/** The setting, the typed value, and the value of the request or the problem. */
const READ: readonly (readonly [what: string, row: ControlRow, typed: DraftValue, expected: unknown])[] = [
  ["a number", NUMBER, " 12 ", 12],
  ["the least number", NUMBER, "1", 1],
  ["a number that is too large", NUMBER, "61", { problem: RANGE }],
  ["a fraction", NUMBER, "1.5", { problem: RANGE }],
  ["a word for a number", NUMBER, "ten", { problem: RANGE }],
  ["a number of too many digits", NUMBER, "9".repeat(30), { problem: RANGE }],
  ["an empty number: the default", NUMBER, "", null],
  ["a text", TEXT, " Wi-Fi ", "Wi-Fi"],
  ["an empty text: the default", TEXT, "  ", null],
  ["a list with blank lines and commas", LIST, "a\n\n b , c\n", ["a", "b", "c"]],
  ["an empty list: the default", LIST, "\n", null],
  ["a switch", SWITCH, false, false],
  ["a choice", CHOICE, "b", "b"],
  ["several choices", CHOICES, ["a", "b"], ["a", "b"]],
  ["no choice at all", CHOICES, [], []],
  ["a reset", CHOICE, null, null],
  ["a secret with blanks, unchanged", SECRET, " s ", " s "],
  ["attributes", TABLE, "Session-Timeout = 60\nClass=vpn a", { "Session-Timeout": 60, Class: "vpn a" }],
  ["a line that is no attribute", TABLE, "vpn", {
    problem: "“vpn” is no attribute. Write Name = value, one per line.",
  }],
];

for (const [what, row, typed, expected] of READ) {
  Deno.test(`readDraft() reads ${what}`, () => {
    const read = readDraft(settingOf("a.b", row), typed);
    assertEquals(read.ok ? read.value : { problem: read.problem }, expected);
  });
}

const OWN = { source: "console" } as const;
/** The setting, the typed value, and whether it is a change. */
const EDITS: readonly (readonly [what: string, row: ControlRow, typed: DraftValue, isEdit: boolean])[] = [
  ["the default in a field that shows it as its placeholder", NUMBER, "10", true],
  ["nothing, where the default is in effect", NUMBER, "", false],
  ["the saved number", { ...NUMBER, ...OWN, value: 20 }, "20", false],
  ["nothing, where the console has a value", { ...NUMBER, ...OWN, value: 20 }, "", true],
  ["a reset of the console's value", { ...NUMBER, ...OWN, value: 20 }, null, true],
  ["a reset of the default", NUMBER, null, false],
  ["the saved text and a blank", { ...TEXT, ...OWN, value: "Wi-Fi" }, "Wi-Fi ", false],
  ["the saved entries in other lines", { ...LIST, ...OWN, value: ["a", "b"] }, "a, b\n", false],
  ["entries in another order", { ...LIST, ...OWN, value: ["a", "b"] }, "b\na", true],
  ["the chosen word", CHOICE, "a", false],
  ["another word", CHOICE, "b", true],
  ["a switch that was turned", SWITCH, false, true],
  ["a switch that was turned back", SWITCH, true, false],
  ["a new secret", SECRET, "s", true],
  ["an empty secret: the stored one is kept", { ...SECRET, ...OWN, isSet: true }, "", false],
];

for (const [what, row, typed, isEdit] of EDITS) {
  Deno.test(`isEdited() counts ${what} as ${isEdit ? "a change" : "no change"}`, () => {
    const setting = settingOf("a.b", row);
    assertEquals(isEdited(setting, editDraft(NO_DRAFT, { setting, value: typed })), isEdit);
  });
}

/** The setting, and what its control shows. */
const SHOWN: readonly (readonly [what: string, row: ControlRow, expected: DraftValue])[] = [
  ["nothing for a default text", TEXT, ""],
  ["the console's number", { ...NUMBER, ...OWN, value: 20 }, "20"],
  ["the default choice", CHOICE, "a"],
  ["the default switch", SWITCH, true],
  ["nothing for a secret", { ...SECRET, ...OWN, isSet: true }, ""],
  ["attributes as lines", { ...TABLE, ...OWN, value: { Class: "a", "Session-Timeout": 60 } }, [
    "Class = a",
    "Session-Timeout = 60",
  ]],
];

for (const [what, row, expected] of SHOWN) {
  Deno.test(`shownDraft() shows ${what}`, () =>
    assertEquals(shownDraft(settingOf("a.b", row), NO_DRAFT), expected));
}

Deno.test("editDraft() keeps a blank at the end, so that the next word can be typed", () => {
  const setting = settingOf("a.b", { ...TEXT, ...OWN, value: "Wi-Fi" });
  const draft = editDraft(NO_DRAFT, { setting, value: "Wi-Fi " });
  assertEquals(shownDraft(setting, draft), "Wi-Fi ");
  assertEquals(editDraft(draft, { setting, value: "Wi-Fi" }).size, 0);
});

Deno.test("shownDraft() shows the default of a choice that is reset, and nothing in a text that is reset", () => {
  const choice = settingOf("a.b", { ...CHOICE, ...OWN, value: "b" });
  const text = settingOf("a.c", { ...TEXT, ...OWN, value: "Wi-Fi" });
  const draft = new Map([["a.b", null], ["a.c", null]]);
  assertEquals([shownDraft(choice, draft), shownDraft(text, draft)], ["a", ""]);
});

/** A value as the review shows it. */
const TEXTS: readonly (readonly [row: ControlRow, text: string | null])[] = [
  [NUMBER, "10 seconds"],
  [TEXT, "VPN"],
  [LIST, null],
  [{ ...LIST, value: ["a", "b"] }, "a, b"],
  [SWITCH, "On"],
  [{ ...TABLE, value: { Class: "a", "Session-Timeout": 60 } }, "Class = a, Session-Timeout = 60"],
  [TABLE, null],
];

for (const [row, text] of TEXTS) {
  Deno.test(`settingValueText() of ${JSON.stringify(row.value)} is ${text}`, () => {
    const setting = settingOf("a.b", row);
    assertEquals(settingValueText(setting, setting.value), text);
  });
}

Deno.test("defaultText() names the default of a field as such, and an empty one not at all", () => {
  const texts = [NUMBER, { ...TEXT, preset: "Wi-Fi" }, { ...TEXT, preset: "" }].map((row) =>
    defaultText(settingOf("a.b", row))
  );
  assertEquals(texts, ["Default: 10", "Default: Wi-Fi", null]);
});

Deno.test("settingValueText() names the choices of a setting", () => {
  const setting = settingOf("factors.enabled", { ...CHOICES, value: ["device", "sms"] });
  assertEquals(settingValueText(setting, setting.value), "Push to a phone, Text message");
});

Deno.test("changesOfDraft() has the changes that are values, and the problems of the others", () => {
  const settings = [settingOf("a.n", NUMBER), settingOf("a.t", TEXT), settingOf("a.l", LIST)];
  const draft = new Map<string, DraftValue>([["a.n", "99"], ["a.t", "x"], ["a.l", "\n"], ["gone", "y"]]);
  const { changes, problems } = changesOfDraft(settings, draft);
  assertEquals([changes, [...problems]], [{ "a.t": "x" }, [["a.n", RANGE]]]);
});

Deno.test("isSettingFound() finds words of the label, key, help and value in any order, and nothing else", () => {
  const setting = settingOf("factors.lockout.failures", { ...NUMBER, value: 17 });
  const found = ["Failed attempts", "lockout.failures", "LOCK before", "row in", "17"];
  assertEquals(found.filter((text) => !isSettingFound(setting, text)), []);
  assertEquals(["telephony", "lock telephony"].filter((text) => isSettingFound(setting, text)), []);
});

Deno.test("a setting of a newer server has its key as the label and the server's text as the help", () => {
  const setting = settingOf("new.setting", { ...TEXT, doc: "what it does" });
  assertEquals([settingName(setting), settingHelp(setting)], ["new.setting", "what it does"]);
});

/** What the first factor is, and which of its settings the form shows. */
const USED: readonly (readonly [value: string, draft: string | null, shown: readonly string[]])[] = [
  ["none", null, ["radius.other"]],
  ["ldap", null, ["radius.first_factor_backend", "radius.other"]],
  ["none", "radius", ["radius.first_factor_server.address", "radius.other"]],
  ["radius", "none", ["radius.other"]],
];

for (const [value, typed, shown] of USED) {
  Deno.test(`isUsed() shows ${shown.join()} with the first factor ${value}, then ${typed}`, () => {
    const choices = { kind: "choice", choices: ["none", "ldap", "radius"] } as const;
    const settings = [
      settingOf("radius.first_factor", { control: choices, preset: "none", value }),
      ...["radius.first_factor_backend", "radius.first_factor_server.address", "radius.other"].map((key) =>
        settingOf(key, TEXT)
      ),
    ];
    const draft = new Map(typed === null ? [] : [["radius.first_factor", typed]]);
    assertEquals(
      settings.slice(1).filter((one) => isUsed(one, { settings, draft })).map(({ key }) => key),
      shown,
    );
  });
}

Deno.test("isUsed() shows a setting that is not the default, whatever has an effect", () => {
  const backend = settingOf("radius.first_factor_backend", { ...TEXT, ...OWN });
  const settings = [settingOf("radius.first_factor", CHOICE), backend];
  assertEquals(isUsed(backend, { settings, draft: NO_DRAFT }), true);
});

/** A problem as the server writes it, and as the form shows it. */
const SENTENCES = {
  "it must be less": "It must be less.",
  "it must be given, because second_factor.url is": "It must be given, because “Service address” is.",
  "no.such.key is unknown": "No.such.key is unknown.",
  "It is a sentence.": "It is a sentence.",
};

for (const [problem, text] of Object.entries(SENTENCES)) {
  Deno.test(`sentenceText() of "${problem}" is "${text}"`, () =>
    assertEquals(sentenceText({ problem }), text));
}

/** The address, and its topic. */
const ADDRESSES: readonly (readonly [segment: string, hash: string, topic: string])[] = [
  ["", "", "sign_in"],
  ["limits", "factors.lockout.failures", "limits"],
  ["", "retention", "system"],
  ["", "look", "appearance"],
  ["", "constructor", "sign_in"],
  ["no-such-topic", "", "sign_in"],
];

for (const [segment, hash, topic] of ADDRESSES) {
  Deno.test(`topicOf() is ${topic} for /settings/${segment}#${hash}`, () =>
    assertEquals(topicOf(segment, hash), topic));
}

Deno.test("settingHref() links to a setting, also of a topic that only the server knows", () => {
  assertEquals(settingHref({ topic: "limits", key: "a.b" }), "/settings/limits#a.b");
  assertEquals(settingHref({ topic: "newer", key: "a.b" }), "/settings/system#a.b");
});

const NAMED: ControlRow = {
  control: { kind: "text", names: "directories" },
  preset: "default",
  value: "default",
};
const CONNECTOR: ControlRow = { control: { kind: "text", names: "ldap_connectors" }, preset: "", value: "" };
const DIRECTORIES = [{ name: "default", ldap: [] }, { name: "corp", ldap: ["ad", "ldap"] }];

Deno.test("namesFor() has the directories, and the LDAP connectors of the directory that the form has", () => {
  const login = settingOf("radius.directory", NAMED);
  const settings = [login];
  const of = (setting: typeof login, chosen: string) =>
    namesFor(setting, {
      settings,
      directories: DIRECTORIES,
      draft: editDraft(NO_DRAFT, { setting: login, value: chosen }),
    });
  assertEquals(of(login, "corp"), ["default", "corp"]);
  const connector = settingOf("radius.first_factor_backend", CONNECTOR);
  assertEquals([of(connector, "default"), of(connector, "corp"), of(connector, "gone")], [
    [],
    ["ad", "ldap"],
    [],
  ]);
  assertEquals(of(settingOf("a.b", TEXT), "corp"), null);
});

Deno.test("a name in a pick list is the value in effect, and a saved name that is not used can be removed", () => {
  assertEquals(shownDraft(settingOf("a.b", NAMED), NO_DRAFT), "default");
  const cause = { key: "a.b", problem: "it is gone" };
  const unused = settingOf("a.b", { ...NAMED, cause });
  const draft = editDraft(NO_DRAFT, { setting: unused, value: null });
  assertEquals(isEdited(unused, draft), true);
  assertEquals(changesOfDraft([unused], draft).changes, { "a.b": null });
  assertEquals(editDraft(NO_DRAFT, { setting: settingOf("a.b", NAMED), value: null }).size, 0);
});
