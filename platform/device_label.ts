// The name of a phone: a short text that pages, logs and terminals can show unchanged. Also the name that a page proposes.

/** The maximum length of a phone's name in characters (code points). */
export const MAX_DEVICE_LABEL_CHARACTERS = 60;

/** Control characters, line ends, and characters that change the text direction (Unicode Standard Annex 9). */
const FORBIDDEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** A name needs a visible character. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** The name in NFC without surrounding blanks; `null` if it is invisible, too long, or has forbidden characters. */
export function parseDeviceLabel(text: string): string | null {
  // Checked before normalisation, which is costly for long texts.
  if (text.length > 4 * MAX_DEVICE_LABEL_CHARACTERS || !text.isWellFormed()) return null;
  const name = text.normalize("NFC").trim();
  if (!VISIBLE.test(name) || FORBIDDEN.test(name)) return null;
  return [...name].length <= MAX_DEVICE_LABEL_CHARACTERS ? name : null;
}

/** Low-entropy User-Agent Client Hints. Not all browsers have them. */
interface ClientHints {
  readonly brands: readonly { readonly brand: string }[];
  readonly platform: string;
}

/** The part of `navigator` that identifies the browser. */
export interface BrowserIdentity {
  readonly userAgent: string;
  readonly userAgentData?: ClientHints;
}

type NamePattern = readonly [pattern: RegExp, name: string];

/** The first match counts. Chrome and Safari are last, because other browsers also send their names. */
const BROWSERS: readonly NamePattern[] = [
  [/\bEdg(e|A|iOS)?\/|Microsoft Edge/, "Edge"],
  [/\b(OPR|OPT|OPX)\/|\bOpera\b/, "Opera"],
  [/\bSamsungBrowser\/|Samsung Internet/, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS)\/|Google Chrome/, "Chrome"],
  [/Chromium/, "Chromium"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
];
const DEVICES: readonly NamePattern[] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/CrOS|Chrome ?OS|Chromium OS/, "ChromeOS"],
  [/Windows/, "Windows"],
  [/Mac ?OS|Macintosh/, "Mac"],
  [/Linux|X11/, "Linux"],
];

/**
 * "Chrome on Android", "Safari on iPhone". Only one part if the other is unknown, "" if both are.
 *
 * @param join joins both parts in the current language. Default: English.
 */
export function proposePhoneName(
  { userAgent, userAgentData }: BrowserIdentity,
  join = (browser: string, device: string): string => `${browser} on ${device}`,
): string {
  const brands = userAgentData?.brands.map(({ brand }) => brand).join(" ") ?? "";
  const browser = firstMatch(BROWSERS, brands) || firstMatch(BROWSERS, userAgent);
  const device = firstMatch(DEVICES, userAgentData?.platform ?? "") || firstMatch(DEVICES, userAgent);
  return browser !== "" && device !== "" ? join(browser, device) : browser || device;
}

/** What a phone page runs on. */
export type DeviceKind = "phone" | "tablet" | "computer";

/** The phone page sends it with "tablet" on an iPad, whose User-Agent header names a Mac. */
export const DEVICE_KIND_HEADER = "countersign-device-kind";

/** The first match counts. */
const KINDS: readonly (readonly [pattern: RegExp, kind: DeviceKind])[] = [
  [/iPad|Tablet|Android(?!.*\bMobile\b)/, "tablet"],
  [/iPhone|Android|\bMobile\b/, "phone"],
  [/CrOS|Windows|Mac ?OS|Macintosh|Linux|X11/, "computer"],
];

/**
 * The kind of device that a User-Agent header names; `null` if it names none.
 *
 * @param given the value of {@link DEVICE_KIND_HEADER}.
 */
export function deviceKind(userAgent: string, given = ""): DeviceKind | null {
  if (given === "tablet") return given;
  return KINDS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null;
}

function firstMatch(rows: readonly NamePattern[], text: string): string {
  return rows.find(([pattern]) => pattern.test(text))?.[1] ?? "";
}
