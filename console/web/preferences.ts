// The preferences of this browser: theme, density, single keys. It and the language are all that the browser keeps.

import { type ReadonlySignal, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = typeof THEMES[number];
export const DENSITIES = ["compact", "cosy"] as const;
export type Density = typeof DENSITIES[number];

export interface Preferences {
  readonly theme: ReadonlySignal<Theme>;
  readonly density: ReadonlySignal<Density>;
  /** Keys without Ctrl do something. */
  readonly singleKeys: ReadonlySignal<boolean>;
  setTheme(theme: Theme): void;
  /** The other of light and dark, whichever is on. */
  switchTheme(): void;
  /** What is on now, also where the system decides. */
  isDark(): boolean;
  setDensity(density: Density): void;
  setSingleKeys(on: boolean): void;
}

const KEYS = {
  theme: "countersign-theme",
  density: "countersign-density",
  keys: "countersign-keys",
} as const;

/** Reads what an earlier visit set and puts it on. */
export function createPreferences(root: HTMLElement): Preferences {
  const theme = signal(oneOf(THEMES, read(KEYS.theme)) ?? "system");
  const density = signal(oneOf(DENSITIES, read(KEYS.density)) ?? "compact");
  const singleKeys = signal(read(KEYS.keys) !== "off");
  const putOn = (): void => {
    if (theme.peek() === "system") delete root.dataset.theme;
    else root.dataset.theme = theme.peek();
    root.dataset.density = density.peek();
  };
  const isDark = () =>
    theme.value === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme.value === "dark";
  const setTheme = (next: Theme): void => {
    theme.value = next;
    write(KEYS.theme, next === "system" ? null : next);
    putOn();
  };
  putOn();
  return {
    theme,
    density,
    singleKeys,
    isDark,
    setTheme,
    switchTheme: () => setTheme(isDark() ? "light" : "dark"),
    setDensity(next) {
      density.value = next;
      write(KEYS.density, next === "compact" ? null : next);
      putOn();
    },
    setSingleKeys(on) {
      singleKeys.value = on;
      write(KEYS.keys, on ? null : "off");
    },
  };
}

function oneOf<T extends string>(names: readonly T[], name: string | null): T | undefined {
  return names.find((one) => one === name);
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch (_storageIsOff) {
    return null;
  }
}

function write(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch (_storageIsOff) {
    // Without storage the choice lasts as long as the page.
  }
}
