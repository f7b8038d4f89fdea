// Plays a login back: a scrubber over its time. The moment stands in the address, so a link shows the same.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConversationView, PacketRecord } from "../../../../radius/ports.ts";
import type { Models } from "../../models/models.ts";
import { secondsText } from "../../format.ts";
import { useShortcuts } from "../../shortcuts.ts";
import { momentWords } from "../../words.ts";
import { t } from "../../i18n/translate.ts";
import { CopyButton } from "../copy_button.tsx";

const FRAME_MS = 100;
/** Half a second more than the end, so that the end is seen. */
const BEYOND_MS = 500;

type Timed = Pick<ConversationView, "startedMs" | "updatedMs">;

/** The moment that the address names, in milliseconds since the epoch; the end of time without one. */
export function momentOf(router: Models["router"], { startedMs }: Timed): number {
  const seconds = Number.parseFloat(router.param("t"));
  return Number.isFinite(seconds) ? startedMs + seconds * 1000 : Infinity;
}

interface ReplayProps {
  readonly models: Models;
  readonly view: ConversationView;
  readonly packets: readonly PacketRecord[];
}

export function ReplayBar({ models: { router }, view, packets }: ReplayProps) {
  const speed = useSignal(0);
  const lengthMs = Math.max(1, view.updatedMs - view.startedMs) + BEYOND_MS;
  const atMs = Math.min(lengthMs, momentOf(router, view) - view.startedMs);
  const isWhole = atMs >= lengthMs;
  const show = (offsetMs: number) => router.setParams({ t: String(Math.max(0, offsetMs / 1000)) });
  useEffect(() => {
    if (speed.value === 0) return;
    const timer = setInterval(() => {
      const now = momentOf(router, view) - view.startedMs;
      const next = (now >= lengthMs ? 0 : now) + FRAME_MS * speed.value;
      show(Math.round(Math.min(next, lengthMs)));
      if (next >= lengthMs) speed.value = 0;
    }, FRAME_MS);
    return () => clearInterval(timer);
  }, [speed.value, lengthMs]);
  useShortcuts([
    { keys: "r", does: "live.key_replay", run: () => speed.value = speed.peek() === 0 ? 1 : 0 },
  ]);
  const stepOn = () => {
    const times = [...view.moments, ...packets].map((one) => one.atMs - view.startedMs).sort((a, b) => a - b);
    const from = isWhole ? -1 : atMs;
    show(times.find((time) => time > from) ?? times[0] ?? 0);
  };
  const reached = view.moments.findLast((moment) => moment.atMs <= view.startedMs + atMs);
  const seconds = secondsText(atMs);
  return (
    <section class="replay" aria-label={t("live.replay")}>
      <input
        type="range"
        min={0}
        max={lengthMs}
        step={10}
        value={isWhole ? lengthMs : atMs}
        aria-label={t("live.replay_at")}
        aria-valuetext={`${seconds} ${reached === undefined ? "" : momentWords(reached.step).label}`}
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <span class="mono number">{seconds}</span>
      <button type="button" class="button button-small" onClick={stepOn}>{t("live.replay_step")}</button>
      {speed.value === 0
        ? (
          <>
            <button type="button" class="button button-small" onClick={() => speed.value = 1}>
              {t("live.replay_play")}
            </button>
            <button
              type="button"
              class="button button-small"
              aria-label={t("live.replay_fast")}
              onClick={() => speed.value = 8}
            >
              8×
            </button>
          </>
        )
        : (
          <button type="button" class="button button-small" onClick={() => speed.value = 0}>
            {t("live.replay_stop")}
          </button>
        )}
      {!isWhole && (
        <button
          type="button"
          class="button button-small"
          onClick={() => router.setParams({ t: "" })}
        >
          {t("live.replay_all")}
        </button>
      )}
      <CopyButton
        what={t("live.copy_link")}
        text={`${location.origin}/live/c/${encodeURIComponent(view.id)}${isWhole ? "" : `?t=${atMs / 1000}`}`}
      />
    </section>
  );
}
