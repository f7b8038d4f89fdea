// Whether a browser can receive push messages on this page, and why not.

/** What is known about the browser and the page. */
export interface BrowserFacts {
  /** https or localhost. */
  readonly isSecure: boolean;
  readonly hasPush: boolean;
  /** An iPhone or iPad. */
  readonly isApple: boolean;
  /** An iPad whose User-Agent header names a Mac. */
  readonly callsItselfMac: boolean;
  /** Opened from the Home Screen, in a window of its own. */
  readonly isInstalled: boolean;
}

/** `needs_home_screen`: Safari on iOS supports push only for pages on the Home Screen. */
export type PushSupport = "supported" | "insecure" | "needs_home_screen" | "unsupported";

export function pushSupport(
  { isSecure, hasPush, isApple, isInstalled }: Omit<BrowserFacts, "callsItselfMac">,
): PushSupport {
  if (!isSecure) return "insecure";
  if (hasPush) return "supported";
  return isApple && !isInstalled ? "needs_home_screen" : "unsupported";
}

/** The facts of this browser. */
export function browserFacts(): BrowserFacts {
  const { userAgent, maxTouchPoints } = navigator;
  // A Mac has no touch screen.
  const callsItselfMac = /Macintosh/.test(userAgent) && maxTouchPoints > 1;
  const isApple = /iPhone|iPad|iPod/.test(userAgent) || callsItselfMac;
  return {
    isSecure: isSecureContext,
    hasPush: "serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis,
    isApple,
    callsItselfMac,
    isInstalled: matchMedia("(display-mode: standalone)").matches ||
      (navigator as { standalone?: boolean }).standalone === true,
  };
}
