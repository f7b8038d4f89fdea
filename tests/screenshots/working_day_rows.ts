// The users, groups and logins of the console in the middle of a working day, data only.

import type { ConversationOutcome, ConversationView } from "../../radius/ports.ts";
import type { NewPairing } from "../../radius/factors/pairing.ts";

export interface TownPerson {
  readonly user: string;
  readonly given: string;
  readonly family: string;
  readonly title: string;
  readonly department: string;
  readonly factors: readonly NewPairing[];
}

export interface TownLogin {
  readonly agoMs: number;
  readonly user: string;
  readonly client: string;
  readonly place: string;
  readonly source: string;
  readonly step: string;
  readonly factor: ConversationView["factor"];
  readonly moments: readonly (readonly [afterMs: number, step: string, row: string])[];
  /** `null` while it is in progress. */
  readonly end:
    | { readonly outcome: ConversationOutcome; readonly row: string; readonly afterMs: number }
    | null;
}

const phone = (id: string) => ({ kind: "device", id, totpLength: 6 }) as const;
const text = (number: string) => ({ kind: "sms", number }) as const;
const app = (letter: string) =>
  ({ kind: "totp", seed: new TextEncoder().encode(letter.repeat(20)) }) as const;

type PersonRow = readonly [
  name: string,
  title: string,
  department: string,
  factors: readonly NewPairing[],
];
const PEOPLE: readonly PersonRow[] = [
  ["Ada Lovelace", "Analyst", "Research", [phone("d1"), text("+4915112345678")]],
  ["Alan Turing", "Cryptanalyst", "Research", [phone("d2")]],
  ["Barbara Liskov", "Head of research", "Research", [text("+4915187654321"), app("b")]],
  ["Donald Knuth", "Typesetter", "Publishing", []],
  ["Dorothy Vaughan", "Team lead", "Computing", [phone("d3")]],
  ["Edsger Dijkstra", "Engineer", "Computing", [app("e")]],
  ["Frances Allen", "Engineer", "Compilers", [phone("d4")]],
  ["Grace Hopper", "Rear admiral", "Compilers", [phone("d5"), app("g")]],
  ["Hedy Lamarr", "Inventor", "Radio", [text("+4366012345678")]],
  ["Jean Bartik", "Programmer", "Computing", [phone("d6")]],
  ["Katherine Johnson", "Navigator", "Flight", [phone("d8")]],
  ["Ken Thompson", "Engineer", "Systems", [app("k")]],
  ["Margaret Hamilton", "Director", "Flight", [phone("d9"), text("+12025550143")]],
  ["Niklaus Wirth", "Engineer", "Compilers", [text("+41791234567")]],
  ["Radia Perlman", "Engineer", "Networks", [phone("d10")]],
];

/** User names are given name, dot, family name. */
export const TOWN_PEOPLE: readonly TownPerson[] = PEOPLE.map(([name, title, department, factors]) => {
  const [given = "", family = ""] = name.split(" ");
  return { user: name.toLowerCase().replace(" ", "."), given, family, title, department, factors };
});

/** The users in the screenshots. */
export const ADA = "ada.lovelace";
const GRACE = "grace.hopper";

export const TOWN_GROUPS: Readonly<Record<string, readonly string[]>> = {
  flight: ["katherine.johnson", "margaret.hamilton"],
  remote: [ADA, "alan.turing", "frances.allen", GRACE, "katherine.johnson", "radia.perlman"],
  research: [ADA, "alan.turing", "barbara.liskov", "hedy.lamarr"],
  staff: TOWN_PEOPLE.map(({ user }) => user),
};

const PHONE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const CODE = "GET_DEVICE_GENERATED_PASSCODE";
const TEXT = "AWAIT_SMS_DELIVERED_PASSCODE";
const MENU = "CHOOSE_WHICH_MULTIFACTOR";

interface Way {
  readonly step: string;
  readonly factor: TownLogin["factor"];
  readonly moments: TownLogin["moments"];
}
const BY_PHONE: Way = {
  step: PHONE,
  factor: "device",
  moments: [[0, "first_factor", "first_factor_asked"], [30, "factor", "first_factor_right"], [
    40,
    "pushing",
    "device_picked",
  ], [95, PHONE, "pushed"]],
};
const BY_CODE: Way = {
  step: CODE,
  factor: "totp",
  moments: [[0, "first_factor", "first_factor_asked"], [25, "factor", "first_factor_right"], [
    31,
    CODE,
    "totp_picked",
  ]],
};
const BY_TEXT: Way = {
  step: TEXT,
  factor: "sms",
  moments: [[0, "first_factor", "first_factor_asked"], [28, "factor", "first_factor_right"], [
    180,
    TEXT,
    "text_sent",
  ]],
};
const AT_MENU: Way = {
  step: MENU,
  factor: null,
  moments: [[0, "first_factor", "first_factor_asked"], [33, "factor", "first_factor_right"], [
    40,
    MENU,
    "nothing_paired",
  ]],
};
const approved = (afterMs: number) => ({ outcome: "accepted", row: "approved", afterMs }) as const;
const typed = (afterMs: number) => ({ outcome: "accepted", row: "totp_right", afterMs }) as const;
const denied = { outcome: "rejected", row: "not_approved", afterMs: 8960 } as const;
const wrong = { outcome: "rejected", row: "code_wrong", afterMs: 12_400 } as const;
const late = { outcome: "expired", row: "expired", afterMs: 60_000 } as const;

/** The sources of logins: the client, its address, and the Calling-Station-Id. */
const GATES = {
  vpn1: { client: "vpn-1", source: "198.51.100.4", place: "203.0.113.57" },
  vpn2: { client: "vpn-2", source: "203.0.113.8", place: "192.0.2.140" },
  wifi: { client: "wifi-office", source: "10.2.0.5", place: "10.2.17.80" },
  citrix: { client: "citrix", source: "10.9.0.12", place: "10.20.4.31" },
} as const;

type LoginRow = readonly [
  agoS: number,
  name: string,
  gate: keyof typeof GATES,
  way: Way,
  end: TownLogin["end"],
];
const LOGINS: readonly LoginRow[] = [
  [412, "dorothy.vaughan", "wifi", BY_PHONE, approved(4100)],
  [388, "frances.allen", "vpn1", BY_PHONE, approved(6200)],
  [351, "donald.knuth", "vpn2", AT_MENU, late],
  [317, "edsger.dijkstra", "vpn1", BY_CODE, typed(9800)],
  [288, "dorothy.vaughan", "wifi", BY_PHONE, approved(3900)],
  [251, "radia.perlman", "vpn2", BY_PHONE, approved(5200)],
  [214, "ken.thompson", "citrix", BY_CODE, wrong],
  [193, "ken.thompson", "citrix", BY_CODE, typed(11_300)],
  [166, "katherine.johnson", "vpn1", BY_PHONE, approved(4700)],
  [141, "jean.bartik", "wifi", BY_PHONE, approved(3300)],
  [118, "alan.turing", "vpn1", BY_PHONE, denied],
  [84, "barbara.liskov", "vpn2", BY_CODE, typed(7600)],
  [61, "margaret.hamilton", "vpn1", BY_PHONE, approved(5900)],
  [38, "donald.knuth", "vpn2", AT_MENU, null],
  [27, "hedy.lamarr", "wifi", BY_TEXT, null],
  [19, "alan.turing", "vpn1", BY_PHONE, null],
  [14, "edsger.dijkstra", "citrix", BY_CODE, null],
  [9, "niklaus.wirth", "vpn2", BY_TEXT, null],
  [6, GRACE, "vpn1", BY_PHONE, null],
  [3, ADA, "vpn1", BY_PHONE, null],
];

/** Oldest first. */
export const TOWN_LOGINS: readonly TownLogin[] = LOGINS.map(([agoS, user, gate, way, end]) => ({
  agoMs: agoS * 1000,
  user,
  ...GATES[gate],
  ...way,
  end,
}));

const idOf = (at: number) => `c${String(at + 1).padStart(10, "0")}`;
/** The login that was denied on the phone, with stored packets. */
export const DENIED_LOGIN = idOf(TOWN_LOGINS.findIndex(({ end }) => end?.row === "not_approved"));
