// Problems of settings: a code with values, and the English text. The console translates by the code (`problems.<code>` in
// console/web/i18n/de.json).

/** What each type of value allows: the end of the sentence "It must be …". */
const MEANINGS = {
  means_attribute_lists:
    'a list of SCIM attributes of users, each once, as in ["title", "emails[].value"]; ' +
    "not the name, active or password",
  means_boolean: "true or false",
  means_certificates: "the path of a PEM file, or its content",
  means_choice: "{choices}",
  means_choices: "a list with any of {choices}, each at most once",
  means_contact: 'a mailto: or https: address, as in "mailto:it@example.com", or empty',
  means_country_codes: 'a list of country codes of 1 to 3 digits without +, as in ["1", "49"]',
  means_day_numbers: 'a list of up to 10 ascending numbers of days from 1 to 365, as in ["3", "7"]',
  means_dn: 'a distinguished name of at most 1024 characters, as in "ou=people,dc=example,dc=org"',
  means_domains: 'a list of domains without backslash, @ and blanks, as in ["CORP"]',
  means_extensions:
    "the path of a JSON file with a list of schema extensions, or that list of at most {max} characters",
  means_fingerprint: "a SHA-256 fingerprint of 64 hexadecimal digits, with or without colons, or empty",
  means_front_end_name: "the name of a front-end attribute: letters, digits, _ and -",
  means_host_patterns: 'a list of host names, as in ["push.example.com", "*.push.example.com"]',
  means_host: 'a host name or an IP address, as in "smtp.example.com", or empty',
  means_hours: "a whole number of hours from {min} to {max}",
  means_integer: "a whole number from {min} to {max}",
  means_ip: "an IP address, or empty",
  means_ldap_name: "the name of an LDAP attribute: letters, digits and -",
  means_ldap_urls: '"ldap://host:port" or "ldaps://host:port", or a list of them, each once',
  means_listen: '"host:port" or "[IPv6]:port", as in "127.0.0.1:8080"',
  means_listens: 'one "host:port" or "[IPv6]:port", or a list of one or more, as in ["[::]:1812"]',
  means_mailbox: 'a mail address with an optional name, as in "Countersign <no-reply@example.com>", or empty',
  means_optional_listens:
    'one "host:port" or "[IPv6]:port", or a list of them, as in ["[::]:2083"]; empty: none',
  means_milliseconds: "a whole number of milliseconds from {min} to {max}",
  means_minutes: "a whole number of minutes from {min} to {max}",
  means_name: "1 to 64 of the letters A to Z and a to z, digits, dot, _ and -, not dots alone",
  means_names: 'a list of one or more names, each once, as in ["default"]',
  means_origin: 'an http:// or https:// address without a path, as in "https://login.example.com"',
  means_peers: '"IP:port" or "[IPv6]:port" with an IP address, or a list of them, as in ["192.0.2.20:1812"]',
  means_ranges: 'a list of IP addresses and CIDR ranges, as in ["10.1.0.0/16", "192.0.2.7"]',
  means_realms: 'a list of realms without @, backslash and blanks, as in ["corp.example"]',
  means_reply_names:
    '"all", "none" or a list of names of RADIUS attributes, as in ["Class", "Filter-Id", "26.9.1"]',
  means_scim_attribute:
    'a SCIM attribute, as in "title", "name.familyName", "emails[].value" or with its schema\'s URN',
  means_seconds: "a whole number of seconds from {min} to {max}",
  means_san:
    'a subjectAltName, as in "nas.example.org", "*.aps.example.org", "192.0.2.7" or "URI:urn:example:nas", or empty',
  means_secret: "a text of at most {max} characters",
  means_secret_from: "a text of {min} to {max} characters",
  means_separator: "one of the characters ! \" # $ % & ' ( ) * + , . / : ; < = > ? @ [ \\ ] ^ _ ` { | } ~",
  means_table: "a table of attributes",
  means_text: "a text of at most {max} characters on one line",
  means_text_from: "a text of {min} to {max} characters on one line",
  means_texts: 'a list of texts of 1 to 256 characters, as in ["admins"]',
  means_url: "an http:// or https:// address without user, query and fragment",
  means_user_filter:
    "an LDAP filter that uses the typed name only to compare it with whole values of attributes",
  means_users: 'a list of user names without blanks and commas, as in ["probe"]',
  means_user_id: "a text of 1 to 128 characters on one line, without a colon",
} as const;

/** Single settings, and their form. */
const VALUE_PROBLEMS = {
  did_you_mean: "there is no such setting; did you mean {key}?",
  empty: "it is empty; it must be {means}",
  missing: "it is missing; it must be {means}",
  must_be_list_table: "it must be given as a table in double brackets: [[{table}]]",
  must_be_table: "it must be a table: [{table}]",
  must_be_text_or_number: "it must be a text or a number",
  no_such_setting: "there is no such setting",
  not_allowed: "{value} is not allowed; it must be {means}",
  not_of: "it is not {means}",
  extensions_unfit: "{reason}",
  reply_name: "an attribute's name has 1 to 128 characters",
  reply_not_number: "{value} is not allowed; it must be a text or a whole number from 0 to 4294967295",
  reply_octets: "its value has {count} octets; it must have 1 to {max}",
  reply_unfit: "{reason}",
  too_many: "there are {count}; at most {max} are allowed",
  value_not_allowed: "its value is not allowed; it must be {means}",
} as const;

/** Settings that do not fit together. */
const FAULTS = {
  bind_dn_missing: "it is empty; bind_password is given, and needs it",
  bind_password_missing: "it is empty; bind_dn is given, and needs it",
  password_change_without_tls: "it needs TLS: only ldaps: in url, or start_tls = true",
  user_filter_without_name: "it must find users by their name, too: {filter}",
  ca_cert_without_tls: "it needs TLS: an ldaps: url, or start_tls = true",
  certificate_taken: "{name} has the same certificate already; one of the two must differ",
  client_address: "it is missing or empty; a client without tls needs its addresses",
  client_secret: "it is missing or empty; a client without tls needs a shared secret",
  connector_digits: "a backend's name must not be digits alone",
  first_factor_backend_empty:
    "it is empty; it must name an ldap backend of targets.{directory}: there is {names}",
  first_factor_backend_none:
    "it is empty; it must name an ldap backend of targets.{directory}: there is none",
  first_factor_backend_unknown:
    "{value} is none; it must name an ldap backend of targets.{directory}: there is {names}",
  first_factor_backend_lost:
    "{value} is none; it must name an ldap backend of targets.{directory}: there is none",
  first_factor_server_missing:
    'it is empty; first_factor = "radius" needs first_factor_server = { address = "…", secret = "…" }',
  front_end_taken: "{value} belongs to {other} already; each needs a front-end attribute of its own",
  issuer_not_https: "{value} is not https; it must be, except on this machine",
  name_taken: "{name} is there already; names must differ",
  needed_by: "it is empty; it must be given, because {other} is",
  no_target: "there is no target {name}; there is {names}",
  not_a_name: "{value} is no name; it must be {means}",
  password_missing: "it is empty; user_name is given, and needs it",
  reply_default_octets: "its attributes have {count} octets; an Access-Accept has room for {max}",
  reply_group_octets:
    "all groups' attributes and those of radius.reply.default have {count} octets; an Access-Accept has room for {max}",
  routes_over_total: "{count} is more than telephony.connections_total, {total}; it must not be",
  scopes_without_openid: 'it lacks "openid"; it must have it',
  shadow_without_server:
    'it must be "radius", because mode is "shadow": only the first-factor server can answer',
  start_tls_with_ldaps: "it is true, but url begins with ldaps: already; leave one of them",
  token_and_password: "user_name or password is given as well; it must be one or the other",
  token_missing: "it is empty; it must be given, or user_name and password",
  user_name_missing: "it is empty; password is given, and needs it",
} as const;

/** Changes that the console cannot make. */
const CHANGE_FAULTS = {
  certificate_content: "it must be the content of a PEM file: the console cannot read files",
  connector_of_client:
    "the RADIUS client {client} checks passwords at a connector that would be gone; change the client first",
  directory_always: "it always exists; change it instead",
  directory_data: "the data of a removed directory with this name is being deleted; try again in a minute",
  directory_in_file: "the settings file defines it; change it there and restart",
  directory_name: "this is no name; it must be {means}",
  directory_unknown: "there is no such directory",
  extensions_content: "it must be the JSON itself: the console cannot read files",
  file_sets_secret: "the settings file sets {key}, so it must set the address too",
  in_file: "the settings file sets it; change it there and restart",
  needs_restart: "it can only be changed in the settings file, with a restart",
  reference:
    "a value of the console cannot refer to the environment or to a file; enter the value itself, or set it in the settings file",
  repeat_for_address: "enter it again, because the address changes",
  repeat_without_tls: "enter it again, because it would be sent without TLS",
  repeat_for_key: "enter it again, because {key} changes",
  unreadable: "the secret cannot be decrypted; enter it again",
} as const;

/** Valid settings that need attention. */
const WARNINGS = {
  address_lost: "you use the console at {host}, and this address will be refused; open {url} from then on",
  any_number: '"any" texts and calls whatever number is typed; that is no second factor at all',
  any_number_anywhere:
    'it is empty and factors.phone_numbers is "any"; list the countries that you pay texts and calls to',
  clear_text: "it is not on loopback and has no TLS; passwords and sessions cross the network in clear text",
  clear_text_behind_proxy:
    "it is not on loopback and has no TLS; the way from the proxy to here carries passwords in clear text",
  connector_clear_text: "anyone on the network path reads what is sent, passwords included; use {remedy}",
  eap_without_server:
    '"relay" needs first_factor = "radius": without a first-factor server, requests with EAP are refused',
  enrol_always:
    '"always" lets anyone who types the name of a user without a factor pair a phone of their own',
  gtc_clear_text:
    '"gtc" sends passwords and codes in clear inside EAP; use it for IKEv2 and other tunnels that are encrypted ' +
    "before EAP, not for Wi-Fi and switches",
  hard_limit_first:
    "{count} is less than factors.lockout.failures, {failures}; only an administrator unlocks",
  mail_clear_text:
    "it is none; the password and the mails cross the network in clear text; use starttls or tls",
  no_effect_beside_clients:
    "it has no effect on [[radius.client]]; it is for any client address, or for clients of the console",
  no_effect_while_empty: "it has no effect while {other} is empty",
  no_effect_while_is: "it has no effect while {other} is {value}",
  no_factor: "no factor is offered; no user can log in",
  not_used: "the value of the console is not used: {reason}",
  outer_identity:
    '"trust" takes the outer identity for the user: an attacker with one password can name another user, such as one ' +
    'who needs no second factor. Use "reply"',
  outer_identity_reply:
    '"reply" takes the User-Name of the Access-Accept for the user, and FreeRADIUS repeats the outer identity there unless ' +
    "you change it: an attacker with one password could then name another user. How to verify your server: " +
    'docs/vpn-methods.md, "Check it"',
  outbox_only: "it is empty; texts and calls stay in the embedded outbox, which is for evaluation only",
  public_url_http: "it begins with http: though http.tls_cert is given; links would not work",
  public_url_missing: "it is not set; links contain {url}, which a phone cannot reach",
  public_url_unknown:
    "it is not set; links contain an address of this host alone, which a phone cannot reach",
  public_url_not_https: "it is not https; anyone on the network path reads passwords, sessions and passcodes",
  server_is_self: "{address} is this gateway: a login there would ask itself for the password",
  server_share:
    "each of {count} servers has {share} ms to answer, and a server that checks a password often needs {min} ms; " +
    "a longer timeout or fewer servers prevent needless requests",
  server_unsigned:
    '"auto" trusts answers of that server without Message-Authenticator until it signs one; they can be forged',
  service_not_https: "it is not https; anyone on the network path reads what is sent",
  shadow_mode:
    '"shadow" adds no second factor: the first-factor server decides alone; set "enforce" when the report is good',
  short_secret:
    "it has {count} characters; a shared secret under {min} can be guessed by anyone who sees one packet",
  unknown_users:
    '"allow" lets a name that is not in the directory pass the first factor; another spelling of a name is ' +
    'such a name. "auto" rejects it',
  unsigned: '"off" checks no Message-Authenticator; what a request says can be altered on the way',
} as const;

/** The English text of each code, with the values in braces. */
export const PROBLEM_TEXTS = {
  ...MEANINGS,
  ...VALUE_PROBLEMS,
  ...FAULTS,
  ...CHANGE_FAULTS,
  ...WARNINGS,
} as const;

type MeaningCode = keyof typeof MEANINGS;
type ProblemCode = Exclude<keyof typeof PROBLEM_TEXTS, MeaningCode>;
/** The value `means` is a {@link MeaningCode}, whose placeholders are among the values too. A list is a choice. */
export type ProblemValues = Readonly<Record<string, string | number | readonly string[]>>;

/** Why a setting cannot be used, or needs attention. */
export interface Problem {
  /** A sentence in English, without its capital letter and its full stop. */
  readonly problem: string;
  /** Absent: only the settings file can have the problem. */
  readonly code?: ProblemCode;
  readonly values?: ProblemValues;
}

/** The key for people, to whom a number says little: `radius.client["vpn"].secret`. */
export function shownKey({ key, entry }: { readonly key: string; readonly entry?: string }): string {
  return entry === undefined ? key : key.replace(/\[\d+\]/, () => `[${JSON.stringify(entry)}]`);
}

/** What a type of value allows. */
export interface Meaning {
  readonly code: MeaningCode;
  readonly values: ProblemValues;
}

export const meaning = (code: MeaningCode, values: ProblemValues = {}): Meaning => ({ code, values });

export function meaningText({ code, values }: Meaning): string {
  return fill(MEANINGS[code], values);
}

/** What a caller gives for a problem: its values, and what is allowed. */
interface GivenValues {
  readonly [name: string]: string | number | readonly string[] | Meaning;
}

/** The problem of a code. Its text has what `means` allows. */
export function problemOf(
  code: ProblemCode,
  given: GivenValues = {},
): Problem & { readonly code: ProblemCode } {
  const values: Record<string, ProblemValues[string]> = {};
  const texts: Record<string, ProblemValues[string]> = {};
  for (const [name, value] of Object.entries(given)) {
    if (isMeaning(value)) {
      Object.assign(values, value.values, { [name]: value.code });
      texts[name] = meaningText(value);
    } else values[name] = value;
  }
  const problem = fill(PROBLEM_TEXTS[code], { ...values, ...texts });
  return Object.keys(values).length === 0 ? { problem, code } : { problem, code, values };
}

function isMeaning(value: GivenValues[string]): value is Meaning {
  return typeof value === "object" && "code" in value;
}

function fill(text: string, values: ProblemValues): string {
  return text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = values[name];
    if (value === undefined) return placeholder;
    return typeof value === "object" ? quotedList(value) : String(value);
  });
}

function quotedList(words: readonly string[]): string {
  const quoted = words.map((word) => `"${word}"`);
  return quoted.length < 2 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1)}`;
}
