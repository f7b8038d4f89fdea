// What a phone may be called until its person says otherwise: the browser and the device, as the browser tells of itself.

/** User-Agent Client Hints of low entropy: what every page may read where a browser has them. */
export interface AgentHints {
  readonly brands: readonly { readonly brand: string }[];
  readonly platform: string;
}

/** What a browser says of itself. */
export interface AgentTold {
  readonly userAgent: string;
  readonly userAgentData?: AgentHints;
}

type Row = readonly [said: RegExp, name: string];

/** The first that fits counts: others give themselves out for Chrome and Safari, and those come last. */
const BROWSERS: readonly Row[] = [
  [/\bEdg(e|A|iOS)?\/|Microsoft Edge/, "Edge"],
  [/\b(OPR|OPT|OPX)\/|\bOpera\b/, "Opera"],
  [/\bSamsungBrowser\/|Samsung Internet/, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS)\/|Google Chrome/, "Chrome"],
  [/Chromium/, "Chromium"],
  [/\bVersion\/.*\bSafari\//, "Safari"],
];
const DEVICES: readonly Row[] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/CrOS|Chrome ?OS|Chromium OS/, "ChromeOS"],
  [/Windows/, "Windows"],
  [/Mac ?OS|Macintosh/, "Mac"],
  [/Linux|X11/, "Linux"],
];

/**
 * "Chrome on Android", "Safari on iPhone"; one half where the browser reveals only one, "" where it reveals none.
 *
 * @param join writes both halves in the chosen language; in English unless given.
 */
export function proposedName(
  { userAgent, userAgentData }: AgentTold,
  join = (browser: string, device: string): string => `${browser} on ${device}`,
): string {
  const brands = userAgentData?.brands.map(({ brand }) => brand).join(" ") ?? "";
  const browser = find(BROWSERS, brands) || find(BROWSERS, userAgent);
  const device = find(DEVICES, userAgentData?.platform ?? "") || find(DEVICES, userAgent);
  return browser !== "" && device !== "" ? join(browser, device) : browser || device;
}

function find(rows: readonly Row[], text: string): string {
  return rows.find(([said]) => said.test(text))?.[1] ?? "";
}
