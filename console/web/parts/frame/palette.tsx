// The command palette: go to a place, do a thing, find a user by name; each with its shortcut.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { whyNot } from "../../access_words.ts";
import type { Models } from "../../models/models.ts";
import { matchingOffers, type Offer } from "../../models/palette_model.ts";
import { railRows } from "../../places.ts";
import { activeShortcuts } from "../../shortcuts.ts";
import { t } from "../../i18n/translate.ts";
import { Dialog } from "../dialog.tsx";
import { Keys } from "./help_dialog.tsx";
import { findUsers } from "./palette_users.ts";
import { Symbol } from "../symbol.tsx";

const TYPING_PAUSE_MS = 150;
const ICONS = { go: "chevron-right", do: "play", user: "user" } as const;

export function Palette({ models }: { models: Models }) {
  const typed = useSignal("");
  const at = useSignal(0);
  const users = useSignal<readonly Offer[]>([]);
  const fixed = useMemo(() => fixedOffers(models), []);
  const close = () => {
    models.overlay.value = null;
  };
  useEffect(() => {
    const text = typed.value.trim();
    let isNewest = true;
    const timer = setTimeout(async () => {
      const found = text === "" ? [] : await findUsers(models, text);
      if (isNewest) users.value = found;
    }, TYPING_PAUSE_MS);
    return () => {
      isNewest = false;
      clearTimeout(timer);
    };
  }, [typed.value]);
  const offers = [...matchingOffers(fixed, typed.value), ...users.value];
  const chosen = Math.min(at.value, Math.max(0, offers.length - 1));
  const run = (offer: Offer | undefined) => {
    if (offer === undefined || (offer.needs !== undefined && !models.session.may(offer.needs))) return;
    close();
    // After the dialog has given the focus back, so that what runs can move it.
    setTimeout(offer.run);
  };
  return (
    <Dialog title={t("frame.palette")} light onClose={close}>
      <input
        class="input"
        type="text"
        role="combobox"
        aria-label={t("frame.palette_hint")}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={offers.length === 0 ? undefined : `palette-${chosen}`}
        placeholder={t("frame.palette_hint")}
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
      <ul class="palette" id="palette-list" role="listbox" aria-label={t("frame.palette")}>
        {offers.map((offer, index) => (
          <OfferRow
            key={offer.id}
            offer={offer}
            id={`palette-${index}`}
            chosen={index === chosen}
            reason={offer.needs && whyNot(models, offer.needs)}
            run={() => run(offer)}
          />
        ))}
      </ul>
      {offers.length === 0 && <p class="quiet" role="status">{t("frame.palette_empty")}</p>}
    </Dialog>
  );
}

interface OfferRowProps {
  readonly offer: Offer;
  readonly id: string;
  readonly chosen: boolean;
  readonly reason: string | undefined;
  readonly run: () => void;
}

function OfferRow({ offer, id, chosen, reason, run }: OfferRowProps) {
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
      <Symbol name={ICONS[offer.kind]} size={14} />
      <span class="cut">{offer.label}</span>
      {reason !== undefined && <span class="quiet">{reason}</span>}
      {offer.keys !== undefined && (
        <span class="end">
          <Keys keys={offer.keys} />
        </span>
      )}
    </li>
  );
}

/** Places first, then what can be done here. */
function fixedOffers(models: Models): Offer[] {
  const places = railRows().map(([name, { pattern, title, rail, needs }]): Offer => ({
    id: `go:${name}`,
    kind: "go",
    label: t(title),
    keys: rail.key === undefined ? undefined : `g ${rail.key}`,
    needs: needs === "anyone" ? undefined : needs,
    run: () => models.router.go(pattern),
  }));
  const deeds = activeShortcuts().filter(({ keys }) => !keys.startsWith("g ") && keys !== "Escape");
  return [
    ...places,
    ...deeds.map((row): Offer => ({
      id: `do:${row.keys}`,
      kind: "do",
      label: t(row.does),
      keys: row.keys,
      needs: row.needs,
      run: row.run,
    })),
    {
      id: "do:look",
      kind: "do",
      label: t("frame.look"),
      run: () => {
        models.overlay.value = "look";
      },
    },
    { id: "do:sign_out", kind: "do", label: t("frame.sign_out"), run: () => void models.session.signOut() },
  ];
}
