// The command palette: opens a page, runs a shortcut, or finds a user, an object of the gateway, or a setting.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Role } from "../../api/auth/admin_records.ts";
import type { FoundItem, FoundKind } from "../../api/find/find_routes.ts";
import { t } from "../i18n/translate.ts";
import { Dialog } from "../components/dialog.tsx";
import { Icon } from "../components/icons.tsx";
import { permissionHint } from "./session_model.ts";
import type { Models } from "./app_context.ts";
import { openableRoutes, userHref } from "./routes.ts";
import { activeShortcuts } from "./shortcuts.ts";
import { ShortcutKeys } from "./help_dialog.tsx";
import { take } from "./api_client.ts";

const TYPING_PAUSE_MS = 150;
const ICONS = { go: "chevron-right", do: "play", found: "search" } as const;

export function Palette({ models }: { models: Models }) {
  const typed = useSignal(models.typedAhead.peek());
  const at = useSignal(0);
  const places = useSignal<readonly FoundPlace[]>([]);
  const find = useMemo(() => createFinder(models), []);
  const fixed = useMemo(() => fixedItems(models), []);
  const close = () => {
    models.overlay.value = null;
  };
  useEffect(() => {
    models.typedAhead.value = "";
  }, []);
  useEffect(() => {
    const text = typed.value.trim();
    let isNewest = true;
    const timer = setTimeout(async () => {
      const found = text === "" ? [] : await find(text);
      if (isNewest) places.value = found;
    }, TYPING_PAUSE_MS);
    return () => {
      isNewest = false;
      clearTimeout(timer);
    };
  }, [typed.value]);
  const offers = [...matchingItems(fixed, typed.value), ...places.value.map((one) => foundItem(models, one))];
  const chosen = Math.min(at.value, Math.max(0, offers.length - 1));
  const run = (offer: PaletteItem | undefined) => {
    if (offer === undefined || (offer.needs !== undefined && !models.session.hasRole(offer.needs))) return;
    close();
    // After the dialog has restored the focus, so that the command can move it.
    setTimeout(offer.run);
  };
  return (
    <Dialog title={t("shell.palette")} lightDismiss onClose={close}>
      <input
        class="input"
        type="text"
        role="combobox"
        aria-label={t("shell.palette_hint")}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={offers.length === 0 ? undefined : `palette-${chosen}`}
        placeholder={t("shell.palette_hint")}
        autocomplete="off"
        spellcheck={false}
        autofocus
        maxLength={100}
        value={typed.value}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step !== 0) at.value = (chosen + step + offers.length) % Math.max(1, offers.length);
          else if (event.key === "Enter") run(offers[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <ul class="palette" id="palette-list" role="listbox" aria-label={t("shell.palette")}>
        {offers.map((offer, index) => (
          <PaletteRow
            key={offer.id}
            offer={offer}
            id={`palette-${index}`}
            chosen={index === chosen}
            reason={offer.needs && permissionHint(models, offer.needs)}
            run={() => run(offer)}
          />
        ))}
      </ul>
      {offers.length === 0 && <p class="quiet" role="status">{t("shell.palette_empty")}</p>}
    </Dialog>
  );
}

interface PaletteRowProps {
  readonly offer: PaletteItem;
  readonly id: string;
  readonly chosen: boolean;
  readonly reason: string | undefined;
  readonly run: () => void;
}

function PaletteRow({ offer, id, chosen, reason, run }: PaletteRowProps) {
  return (
    <li
      id={id}
      role="option"
      aria-selected={chosen}
      aria-disabled={reason !== undefined}
      onClick={run}
      ref={(element) => {
        if (chosen) element?.scrollIntoView({ block: "nearest" });
      }}
    >
      <Icon name={ICONS[offer.kind]} size={14} />
      <span class="cut">{offer.label}</span>
      {offer.what !== undefined && <span class="end quiet small">{offer.what}</span>}
      {reason !== undefined && <span class="quiet">{reason}</span>}
      {offer.keys !== undefined && (
        <span class="end">
          <ShortcutKeys keys={offer.keys} />
        </span>
      )}
    </li>
  );
}

function foundItem({ router }: Models, { id, label, kind, href }: FoundPlace): PaletteItem {
  return { id, label, kind: "found", what: kind, run: () => router.go(href) };
}

/** Pages first, then the commands of this page. */
function fixedItems(models: Models): PaletteItem[] {
  const places = openableRoutes().map(([name, { pattern, title, key, needs }]): PaletteItem => ({
    id: `go:${name}`,
    kind: "go",
    label: t(title),
    keys: key === undefined ? undefined : `g ${key}`,
    needs: needs === "anyone" ? undefined : needs,
    run: () => models.router.go(pattern),
  }));
  const shortcuts = activeShortcuts().filter(({ keys }) => !keys.startsWith("g ") && keys !== "Escape");
  return [
    ...places,
    ...shortcuts.map((row): PaletteItem => ({
      id: `do:${row.keys}`,
      kind: "do",
      label: t(row.label),
      keys: row.keys,
      needs: row.needs,
      run: row.run,
    })),
    {
      id: "do:look",
      kind: "do",
      label: t("shell.look"),
      run: () => {
        models.overlay.value = "look";
      },
    },
    { id: "do:sign_out", kind: "do", label: t("common.sign_out"), run: () => void models.session.signOut() },
  ];
}

export interface PaletteItem {
  readonly id: string;
  readonly kind: "go" | "do" | "found";
  /** What was found: "Client". */
  readonly what?: string;
  readonly label: string;
  /** The shortcut. */
  readonly keys?: string;
  readonly needs?: Role;
  readonly run: () => void;
}

/** The items that contain every typed word. Items that begin with the typed text come first. */
export function matchingItems(offers: readonly PaletteItem[], typed: string): readonly PaletteItem[] {
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return offers;
  const whole = words.join(" ");
  const hits = offers.filter(({ label }) => {
    const text = label.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const rank = ({ label }: PaletteItem) => label.toLowerCase().startsWith(whole) ? 0 : 1;
  return hits.toSorted((a, b) => rank(a) - rank(b));
}

// What the palette finds besides pages and commands: users, objects of the gateway, and settings by label, key and meaning.

/** An object with a page of its own, or a place on a page. */
interface FoundPlace {
  readonly id: string;
  readonly label: string;
  /** "Client", "Group": what it is. */
  readonly kind: string;
  readonly href: string;
}

const MAX_USERS = 8;
const MAX_SETTINGS = 6;
/** A shorter text is in nearly every setting. */
const MIN_SETTING_TEXT = 3;

const HREFS: Readonly<Record<FoundKind, (item: FoundItem) => string>> = {
  client: ({ name }) => `/clients/${encodeURIComponent(name)}`,
  group: ({ name, detail }) => `/groups/${encodeURIComponent(name)}?target=${encodeURIComponent(detail)}`,
  directory: ({ name }) => `/targets/${encodeURIComponent(name)}`,
  connector: ({ detail }) => `/targets/${encodeURIComponent(detail)}`,
  connection: ({ name }) => `/connections/${encodeURIComponent(name)}`,
  policy: () => "/policies",
  sign_in: ({ name }) => `/live/c/${encodeURIComponent(name)}`,
  caller: ({ name }) => `/history?place=${encodeURIComponent(name)}`,
};

/** Finds everything that fits a text, in the order of the palette. A source that does not answer is left out. */
function createFinder(models: Models): (text: string) => Promise<readonly FoundPlace[]> {
  let settings: ReturnType<typeof readSettings> | null = null;
  return async (text) => {
    const found = await Promise.allSettled([
      findObjects(models, text),
      findUsers(models, text),
      text.length < MIN_SETTING_TEXT ? [] : (settings ??= readSettings(models)).then((find) => find(text)),
    ]);
    return found.flatMap((one) => one.status === "fulfilled" ? one.value : []);
  };
}

async function findObjects({ api }: Models, text: string): Promise<readonly FoundPlace[]> {
  const { items } = await take(api.find.$get({ query: { q: text } }));
  return items.map((item) => ({
    id: `${item.kind}:${item.detail}:${item.name}`,
    label: labelOf(item),
    kind: t(`shell.found_${item.kind}`),
    href: HREFS[item.kind](item),
  }));
}

function labelOf({ kind, name, detail }: FoundItem): string {
  if (kind === "policy") return `${name} · ${t(`shell.found_outcome_${detail as "deny"}`)}`;
  return detail === "" ? name : `${name} · ${detail}`;
}

async function findUsers({ api }: Models, text: string): Promise<readonly FoundPlace[]> {
  const { rows } = await take(api.users.$get({ query: { q: text, size: String(MAX_USERS) } }));
  return rows.map(({ name, displayName }) => ({
    id: `user:${name}`,
    label: displayName === "" || displayName === name ? name : `${name} · ${displayName}`,
    kind: t("shell.found_user"),
    href: userHref(name),
  }));
}

/** Reads the settings once. Their labels and meanings are messages of their page. */
async function readSettings({ api, pages }: Models): Promise<(text: string) => readonly FoundPlace[]> {
  const [{ settings }, { isSettingFound }, { settingName }, { settingHref, topicLabel, settingTopic }] =
    await Promise.all([
      take(api.settings.$get()),
      import("../pages/settings/setting_form.ts"),
      import("../pages/settings/setting_problems.ts"),
      import("../pages/settings/setting_topics.ts"),
      pages.prepare("/settings"),
    ]);
  return (text) =>
    settings.filter((one) => isSettingFound(one, text)).slice(0, MAX_SETTINGS).map((one) => ({
      id: `setting:${one.key}`,
      label: `${settingName(one)} · ${t(topicLabel(settingTopic(one)))}`,
      kind: t("shell.found_setting"),
      href: settingHref(one),
    }));
}
