// The preferences of this browser: theme, density, single keys, and the columns of each table. The browser stores only these and the language.

import { type ReadonlySignal, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = typeof THEMES[number];
export const DENSITIES = ["compact", "cosy"] as const;
export type Density = typeof DENSITIES[number];

/** Columns that the administrator switched on or off, by table. */
type ColumnChoices = Readonly<Record<string, Readonly<Record<string, boolean>>>>;

interface Preferences {
  readonly theme: ReadonlySignal<Theme>;
  readonly density: ReadonlySignal<Density>;
  /** Whether shortcuts without Ctrl are enabled. */
  readonly singleKeys: ReadonlySignal<boolean>;
  setTheme(theme: Theme): void;
  /** Switches between light and dark. */
  toggleTheme(): void;
  /** Whether the dark theme is shown, also if the system decides. */
  isDark(): boolean;
  setDensity(density: Density): void;
  setSingleKeys(on: boolean): void;
  readonly columns: ReadonlySignal<ColumnChoices>;
  setColumn(table: string, column: string, isShown: boolean): void;
  /** Shows the columns that the table shows by default. */
  resetColumns(table: string): void;
}

const STORAGE_KEYS = {
  theme: "countersign-theme",
  density: "countersign-density",
  keys: "countersign-keys",
  columns: "countersign-columns",
} as const;

/** Reads and applies the stored preferences. */
export function createPreferences(root: HTMLElement): Preferences {
  const theme = signal(oneOf(THEMES, read(STORAGE_KEYS.theme)) ?? "system");
  const density = signal(oneOf(DENSITIES, read(STORAGE_KEYS.density)) ?? "compact");
  const singleKeys = signal(read(STORAGE_KEYS.keys) !== "off");
  const columns = signal(readColumns(read(STORAGE_KEYS.columns)));
  const putColumns = (next: ColumnChoices): void => {
    columns.value = next;
    write(STORAGE_KEYS.columns, Object.keys(next).length === 0 ? null : JSON.stringify(next));
  };
  const putOn = (): void => {
    if (theme.peek() === "system") delete root.dataset.theme;
    else root.dataset.theme = theme.peek();
    root.dataset.density = density.peek();
  };
  const isDark = () =>
    theme.value === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme.value === "dark";
  const setTheme = (next: Theme): void => {
    theme.value = next;
    write(STORAGE_KEYS.theme, next === "system" ? null : next);
    putOn();
  };
  putOn();
  return {
    theme,
    density,
    singleKeys,
    isDark,
    setTheme,
    toggleTheme: () => setTheme(isDark() ? "light" : "dark"),
    setDensity(next) {
      density.value = next;
      write(STORAGE_KEYS.density, next === "compact" ? null : next);
      putOn();
    },
    setSingleKeys(on) {
      singleKeys.value = on;
      write(STORAGE_KEYS.keys, on ? null : "off");
    },
    columns,
    setColumn(table, column, isShown) {
      const known = columns.peek();
      putColumns({ ...known, [table]: { ...known[table], [column]: isShown } });
    },
    resetColumns(table) {
      const { [table]: _reset, ...others } = columns.peek();
      putColumns(others);
    },
  };
}

/** The stored choices; none if the text is something else, such as that of another version. */
function readColumns(text: string | null): ColumnChoices {
  try {
    const stored: unknown = JSON.parse(text ?? "{}");
    if (typeof stored !== "object" || stored === null) return {};
    return Object.fromEntries(
      Object.entries(stored).filter(([, choices]) => typeof choices === "object" && choices !== null),
    );
  } catch (_notJson) {
    return {};
  }
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
    // Without storage, the preference lasts until the page is closed.
  }
}
