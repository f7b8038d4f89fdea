// The rows of the policy tests: policies, a user, a login, and the answers of the gateway.

import type { PolicyTime } from "../../../radius/policy/policy.ts";
import type { Factor } from "../../../radius/flow/context.ts";
import { BYPASS, CHALLENGE, DENY, type ShortPolicy, TRUSTED } from "./policy_sample.ts";

/** The gateway checks the password for those `inside`, and for no other. The old ones sign nothing; the default signs. */
export type TestClient = "old" | "inside" | "old-inside";

export interface WireRow {
  readonly policies: readonly ShortPolicy[];
  readonly user?: {
    readonly groups?: readonly string[];
    readonly numbers?: readonly string[];
    readonly has?: readonly Factor[];
    readonly recoveryCode?: true;
    /** Not in the directory. */
    readonly isUnknown?: true;
  };
  /** A fixed name; the default is one that no other row has. */
  readonly name?: string;
  readonly client?: TestClient;
  /** Calling-Station-Id. */
  readonly place?: string;
  readonly password?: string;
  readonly unsigned?: true;
  /** The first answer, then what the user types and the answer to it. `{code}`: the code of the app, `{recovery}`: a recovery code. */
  readonly gives: readonly [string, ...string[]];
  /** Types and values of the Access-Accept. */
  readonly attributes?: readonly (readonly [number, string])[];
}

const OFFICE = "10.1.2.3";
const HOME = "203.0.113.9";
const NUMBER = "+4915112345678";
const OTHER = "+4915187654321";
const GUESTS = { groups: ["Guests"] };
const INSIDE = { client: "inside" } as const;
const PHONE = { has: ["device"] } as const;
const APP = { has: ["totp"] } as const;
const BOTH = { has: ["device", "totp"] } as const;

/** The clock of the test stands at Friday, 15 January 2027, 08:00 UTC. */
const at = (days: PolicyTime["days"], from: string, to: string, zone: string): PolicyTime => ({
  ...{ days, from, to, zone },
});
const deny = (...conditions: ShortPolicy[0][]): ShortPolicy[] => conditions.map((one) => [one, DENY]);
const onlyBy = (requiredFactor: Factor): ShortPolicy[] => [[{}, { kind: "challenge", requiredFactor }]];

const DENIED = "reject Access denied.";
const NO_PHONE = "reject This login needs your phone, and none is paired with your name. Pair one on your " +
  "account page, or ask your administrator.";

// deno-fmt-ignore
export const WIRE_ROWS: Readonly<Record<string, WireRow>> = {
  "no policy: the phone is asked": { policies: [], user: PHONE, gives: ["DEVICE"] },
  "no policy: the menu": { policies: [], gives: ["MENU STPD"] },
  "a disabled policy does nothing": { policies: [[{}, DENY, { enabled: false }]], user: PHONE, gives: ["DEVICE"] },
  "a policy without conditions holds for every login": { policies: deny({}), user: PHONE, gives: [DENIED] },
  "the first policy that matches applies": { policies: [[{}, CHALLENGE], [{}, DENY]], user: PHONE, gives: ["DEVICE"] },
  "the next one applies if the first does not match": { policies: [[GUESTS, CHALLENGE], [{}, DENY]], user: PHONE, gives: [DENIED] },

  "group: a member": { policies: deny(GUESTS), user: { groups: ["Guests"] }, gives: [DENIED] },
  "group: a member in another spelling": { policies: deny(GUESTS), user: { groups: ["x", "GUESTS"] }, gives: [DENIED] },
  "group: no member": { policies: deny(GUESTS), user: { groups: ["staff"] }, gives: ["MENU STPD"] },
  "group: one of several": { policies: deny({ groups: ["a", "b"] }), user: { groups: ["b"] }, gives: [DENIED] },
  "group: an unknown user has none": { policies: deny(GUESTS), user: { isUnknown: true }, gives: ["MENU STPD"] },
  "excluded group: a member": { policies: deny({ exceptGroups: ["Staff"] }), user: { groups: ["staff"] }, gives: ["MENU STPD"] },
  "excluded group: no member": { policies: deny({ exceptGroups: ["Staff"] }), user: { groups: ["guests"] }, gives: [DENIED] },
  "user: named": { policies: deny({ users: ["Mallory"] }), name: "mallory", gives: [DENIED] },
  "user: another spelling": { policies: deny({ users: ["mallory"] }), name: "MALLORY", gives: [DENIED] },
  "user: not named": { policies: deny({ users: ["mallory"] }), gives: ["MENU STPD"] },
  "excluded user: named": { policies: deny({ exceptUsers: ["Trudy"] }), name: "trudy", gives: ["MENU STPD"] },
  "excluded user: not named": { policies: deny({ exceptUsers: ["Trudy"] }), gives: [DENIED] },
  "client: named": { policies: deny({ clients: ["vpn"] }), gives: [DENIED] },
  "client: not named": { policies: deny({ clients: ["wifi"] }), gives: ["MENU STPD"] },
  "two conditions: both hold": { policies: deny({ ...GUESTS, clients: ["vpn"] }), user: { groups: ["guests"] }, gives: [DENIED] },
  "two conditions: one holds": { policies: deny({ ...GUESTS, clients: ["wifi"] }), user: { groups: ["guests"] }, gives: ["MENU STPD"] },

  "network: inside": { policies: deny({ networks: ["10.0.0.0/8"] }), place: OFFICE, gives: [DENIED] },
  "network: outside": { policies: deny({ networks: ["10.0.0.0/8"] }), place: HOME, gives: ["MENU STPD"] },
  "network: no Calling-Station-Id": { policies: deny({ networks: ["0.0.0.0/0"] }), gives: ["MENU STPD"] },
  "network: a MAC address is none": { policies: deny({ networks: ["0.0.0.0/0", "::/0"] }), place: "00-11-22-33-44-55", gives: ["MENU STPD"] },
  "network: a MAC address with colons is none": { policies: deny({ networks: ["0.0.0.0/0", "::/0"] }), place: "00:11:22:33:44:55", gives: ["MENU STPD"] },
  "network: IPv6": { policies: deny({ networks: ["2001:db8::/32"] }), place: "2001:DB8:0:1::5", gives: [DENIED] },
  "network: a mapped IPv4 address": { policies: deny({ networks: ["10.0.0.0/8"] }), place: "::ffff:10.1.2.3", gives: [DENIED] },
  "excluded network: inside": { policies: deny({ exceptNetworks: ["10.0.0.0/8"] }), place: OFFICE, gives: ["MENU STPD"] },
  "excluded network: no address is outside": { policies: deny({ exceptNetworks: ["10.0.0.0/8"] }), gives: [DENIED] },

  "time: inside": { policies: deny({ times: [at(["fri"], "07:00", "09:00", "UTC")] }), gives: [DENIED] },
  "time: another day": { policies: deny({ times: [at(["sat"], "07:00", "09:00", "UTC")] }), gives: ["MENU STPD"] },
  "time: over": { policies: deny({ times: [at(["fri"], "07:00", "08:00", "UTC")] }), gives: ["MENU STPD"] },
  "time: the local time of the zone": { policies: deny({ times: [at(["fri"], "08:30", "09:30", "Europe/Berlin")] }), gives: [DENIED] },
  "time: the day before in the west": { policies: deny({ times: [at(["thu"], "21:00", "24:00", "Pacific/Honolulu")] }), gives: [DENIED] },
  "time: past midnight": { policies: deny({ times: [at(["thu"], "22:00", "08:30", "UTC")] }), gives: [DENIED] },

  "device state: no factor": { policies: deny({ device: ["no_factor"] }), gives: [DENIED] },
  "device state: a factor": { policies: deny({ device: ["no_factor"] }), user: APP, gives: ["CODE"] },
  "device state: has a factor": { policies: deny({ device: ["has_factor"] }), user: APP, gives: [DENIED] },
  "device state: not remembered": { policies: deny({ device: ["remembered"] }), user: APP, place: HOME, gives: ["CODE"] },

  "allowed factors: the first of them is picked": { policies: [[{}, { kind: "challenge", factors: ["totp"] }]], user: BOTH, gives: ["CODE"] },
  "allowed factors: the menu has no others": { policies: [[{}, { kind: "challenge", factors: ["sms", "voice"] }]], user: BOTH, gives: ["MENU TP", "S", "MENU TP"] },
  "allowed factors: a phone has passcodes, too": { policies: [[{}, { kind: "challenge", factors: ["device"] }]], gives: ["MENU SD"] },
  "allowed factors: a code of another factor is wrong": { policies: [[{}, { kind: "challenge", factors: ["device"] }]], user: BOTH, gives: ["DEVICE", "{code}", "reject The submitted passcode does not match."] },
  "allowed factors: the app is right": { policies: [[{}, { kind: "challenge", factors: ["totp", "sms"] }]], user: BOTH, gives: ["CODE", "{code}", "accept"] },
  "allowed factors: a recovery code is none of them": { policies: [[{}, { kind: "challenge", factors: ["totp"] }]], user: { ...APP, recoveryCode: true }, gives: ["CODE", "{recovery}", "reject The submitted passcode does not match."] },
  "allowed factors: a recovery code is one of them": { policies: [[{}, { kind: "challenge", factors: ["totp", "recovery"] }]], user: { ...APP, recoveryCode: true }, gives: ["CODE", "{recovery}", "accept"] },

  "required phone: it is asked": { policies: onlyBy("device"), user: BOTH, gives: ["DEVICE"] },
  "required phone: the code of an app does not replace it": { policies: onlyBy("device"), user: BOTH, gives: ["DEVICE", "{code}", "DEVICE"] },
  "required phone: without one": { policies: onlyBy("device"), user: APP, gives: [NO_PHONE] },
  "required phone: the menu shows nothing else": { policies: onlyBy("device"), user: BOTH, password: "", gives: ["MENU S"] },
  "required phone: without one at the menu": { policies: onlyBy("device"), user: APP, password: "", gives: ["MENU S", "S", NO_PHONE] },
  "required phone: a new user pairs it at once": { ...INSIDE, policies: onlyBy("device"), gives: ["PHRASE"] },
  "required phone: a user with a number in the directory has a factor, so no phone can be paired": { ...INSIDE, policies: onlyBy("device"), user: { numbers: [NUMBER] }, gives: [NO_PHONE] },
  "required phone: not without the password": { policies: onlyBy("device"), gives: [NO_PHONE] },
  "required app: it is asked": { policies: onlyBy("totp"), user: BOTH, gives: ["CODE", "{code}", "accept"] },
  "required app: without one": { policies: onlyBy("totp"), user: PHONE, gives: ["reject This login needs an authenticator app, and you have none. Add one on your account page, or ask your administrator."] },
  "required text: the number of the directory": { policies: onlyBy("sms"), user: { ...BOTH, numbers: [NUMBER] }, gives: ["TEXT"] },
  "required text: several numbers": { policies: onlyBy("sms"), user: { numbers: [NUMBER, OTHER] }, gives: ["GET_SMS"] },
  "required text: no number": { policies: onlyBy("sms"), user: PHONE, gives: ["reject This login needs a text message, and no phone number of yours is known. Ask your administrator to add it."] },
  "required call: the number of the directory": { policies: onlyBy("voice"), user: { numbers: [NUMBER] }, gives: ["CALL"] },
  "required call: no number": { policies: onlyBy("voice"), user: APP, gives: ["reject This login needs a phone call, and no phone number of yours is known. Ask your administrator to add it."] },

  "enrolment never: the phrase is not asked": { ...INSIDE, policies: [[{}, { kind: "challenge", enrolment: "never" }]], gives: ["MENU STPD", "S", "MENU no device"] },
  "enrolment by the settings: the phrase is asked": { ...INSIDE, policies: [[{}, CHALLENGE]], gives: ["MENU STPD", "S", "PHRASE"] },
  "enrolment always: also without a password check": { policies: [[{}, { kind: "challenge", enrolment: "always" }]], gives: ["MENU STPD", "S", "PHRASE"] },
  "enrolment after the first factor: not without one": { policies: [[{}, { kind: "challenge", enrolment: "after_first_factor" }]], gives: ["MENU STPD", "S", "MENU no device"] },

  "bypass: after the gateway checked the password": { ...INSIDE, policies: [[{}, BYPASS]], user: PHONE, gives: ["accept"] },
  "bypass: not with a wrong password": { ...INSIDE, policies: [[{}, BYPASS]], password: "wrong", gives: [DENIED] },
  "bypass: not without a check of the password": { policies: [[{}, BYPASS]], user: PHONE, gives: ["DEVICE"] },
  "bypass: the client checks the password": { policies: [[{}, TRUSTED]], user: PHONE, gives: ["accept"] },
  "bypass: the client's word needs a signature": { policies: [[{}, TRUSTED]], client: "old", user: PHONE, unsigned: true, gives: ["DEVICE"] },
  "bypass: a checked password needs a signature, too": { client: "old-inside", policies: [[{}, BYPASS]], user: PHONE, unsigned: true, gives: ["DEVICE"] },
  "bypass: the client's word does not replace a check of the gateway": { ...INSIDE, policies: [[{}, TRUSTED]], password: "wrong", gives: [DENIED] },
  "bypass: not with an empty password": { policies: [[{}, TRUSTED]], user: PHONE, password: "", gives: ["MENU STPD"] },
  "bypass: not after an empty password": { policies: [[{}, TRUSTED]], user: PHONE, password: "", gives: ["MENU STPD", "x", "MENU STPD", "cancel", "MENU STPD", "x", "MENU STPD"] },
  "bypass: a trusted network": { ...INSIDE, policies: [[{ networks: ["10.0.0.0/8"] }, BYPASS]], user: PHONE, place: OFFICE, gives: ["accept"] },
  "bypass: another network": { ...INSIDE, policies: [[{ networks: ["10.0.0.0/8"] }, BYPASS]], user: PHONE, place: HOME, gives: ["DEVICE"] },
  "bypass: an unknown name is not outside of an excluded group": { policies: [[{ exceptGroups: ["Admins"] }, TRUSTED]], user: { isUnknown: true }, gives: ["MENU STPD"] },
  "bypass: an unknown name is not another user than an excluded one": { policies: [[{ exceptUsers: ["ada"] }, TRUSTED]], user: { isUnknown: true }, gives: ["MENU STPD"] },
  "bypass: a known user outside of an excluded group": { policies: [[{ exceptGroups: ["Admins"], exceptUsers: ["ada"] }, TRUSTED]], user: { groups: ["staff"] }, gives: ["accept"] },
  "bypass: an unknown name, if nothing is excluded": { policies: [[{}, TRUSTED]], user: { isUnknown: true }, gives: ["MENU STPD"] },
  "bypass: an unknown name, after the gateway checked the password": { ...INSIDE, policies: [[{}, BYPASS]], user: { isUnknown: true }, gives: [DENIED] },
  "bypass: an unknown name in a network": { policies: [[{ networks: ["10.0.0.0/8"] }, TRUSTED]], place: OFFICE, user: { isUnknown: true }, gives: ["MENU STPD"] },
  "bypass: an unknown name, after a policy for a group": { policies: [[{ groups: ["Admins"] }, CHALLENGE], [{}, TRUSTED]], user: { isUnknown: true }, gives: ["MENU STPD"] },
  "bypass: an unknown name has a factor or had one": { policies: [[{ device: ["no_factor"] }, TRUSTED]], user: { isUnknown: true }, gives: ["MENU STPD"] },
  "bypass: an unknown name that the policy lists": { policies: [[{ users: ["Ghost"] }, TRUSTED]], name: "ghost", user: { isUnknown: true }, gives: ["accept"] },
  "bypass: an unknown name, if the policy is also for such names": { policies: [[{}, { ...TRUSTED, kind: "bypass", unknownUsers: true }]], user: { isUnknown: true }, gives: ["accept"] },
  "bypass: a user who never had a factor": { policies: [[{ device: ["no_factor"] }, TRUSTED]], gives: ["accept"] },
  "bypass: a number of the directory is a factor": { policies: [[{ device: ["no_factor"] }, TRUSTED]], user: { numbers: [NUMBER] }, gives: ["MENU STPD"] },
  "bypass: recovery codes are a factor": { policies: [[{ device: ["no_factor"] }, TRUSTED]], user: { recoveryCode: true }, gives: ["MENU STPD"] },
  "deny: also with the right password": { ...INSIDE, policies: deny({}), user: PHONE, gives: [DENIED] },
  "deny: also without a password": { policies: deny({}), password: "", gives: [DENIED] },

  "session attributes: of a bypass": { ...INSIDE, policies: [[{}, { ...BYPASS, kind: "bypass", attributes: { "Filter-Id": "office" } }]], gives: ["accept"], attributes: [[25, "staff"], [11, "office"]] },
  "session attributes: after a second factor, instead of the settings": { policies: [[{}, { kind: "challenge", attributes: { Class: "night" } }]], user: APP, gives: ["CODE", "{code}", "accept"], attributes: [[25, "night"]] },
  "session attributes: none of a policy that does not apply": { policies: [[GUESTS, { kind: "challenge", attributes: { Class: "night" } }]], user: APP, gives: ["CODE", "{code}", "accept"], attributes: [[25, "staff"]] },
};
