// Says two minutes before a session ends by itself, with a way to stay.

import { useComputed } from "@preact/signals";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Note } from "../note.tsx";

const ANNOUNCED_MS = 120_000;

export function SessionEnd({ models }: { models: Models }) {
  const { session, clock } = models;
  // A yes or no alone, so that nothing is drawn each second.
  const soon = useComputed(() => {
    const leftMs = (session.endsMs.value ?? Infinity) - clock.nowMs.value;
    return leftMs <= ANNOUNCED_MS && !session.interrupted.value;
  });
  if (!soon.value) return null;
  const stay = async () => {
    await session.stay();
    // The longest life of a session is not moved by use.
    if (soon.peek()) session.signInAgain();
  };
  return (
    <div class="session-end">
      <Note tone="wait" role="status">
        {t("frame.session_ends")} <Button small onClick={stay}>{t("frame.session_stay")}</Button>
      </Note>
    </div>
  );
}
