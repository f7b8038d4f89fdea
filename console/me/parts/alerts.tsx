// What is the matter with the account: a server that is away, a lock, and what "This was not me" just did.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fullTimeText, timeText } from "../../web/format.ts";
import { useDeed } from "../../web/models/deed.ts";
import { Note } from "../../web/parts/note.tsx";
import { Symbol } from "../../web/parts/symbol.tsx";
import { t } from "../../web/i18n/translate.ts";
import type { MeDisowned, MeFactors } from "../../api/account/account_types.ts";
import type { PartProps } from "./part_props.ts";

export function Alerts({ models, account }: PartProps) {
  const state = account.factors.state.value;
  const locked = state.kind === "ready" ? state.value.locked : null;
  const untilMs = locked?.untilMs ?? Infinity;
  const isLocked = locked !== null && untilMs > models.clock.nowMs.value;
  const stopped = account.stopped.value;
  return (
    <>
      <Stale account={account} />
      {state.kind === "ready" && <Notices account={account} notices={state.value.notices ?? []} />}
      {state.kind === "ready" && <Unconfirmed account={account} factors={state.value.unconfirmed ?? []} />}
      {stopped !== null && <Stopped done={stopped} onClose={account.putAway} />}
      {isLocked && stopped === null && (
        <Note tone="bad">
          <strong>{t("me.lock_title")}</strong>
          {untilMs === Infinity
            ? <p>{t("me.lock_text_open")}</p>
            : <p title={fullTimeText(untilMs)}>{t("me.lock_text", { time: hourText(untilMs) })}</p>}
        </Note>
      )}
    </>
  );
}

/** What was added to the ways to sign in, until the user says that it is their own. */
function Notices(
  { account, notices }: Pick<PartProps, "account"> & { notices: NonNullable<MeFactors["notices"]> },
) {
  const problem = useSignal<string | null>(null);
  const { busy, run } = useDeed();
  if (notices.length === 0) return null;
  return (
    <Note tone="wait">
      <strong>{t("me.notice_title")}</strong>
      <ul>
        {notices.map(({ atMs, what, by }) => (
          <li key={`${atMs}${what}`}>
            {t(`me.notice_${what}`)}, {t(`me.notice_by_${by}`)}, {fullTimeText(atMs)}
          </li>
        ))}
      </ul>
      <p>{t("me.notice_next")}</p>
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <button
        type="button"
        class="button button-small"
        disabled={busy.value}
        onClick={() =>
          void run(() =>
            account.run({
              call: account.calls.confirmNotices,
              onProblem: (sentence) => problem.value = sentence,
            })
          )}
      >
        {t("me.notice_confirm")}
      </button>
    </Note>
  );
}

/** What a revoked phone added: it does not count until the user keeps it. */
function Unconfirmed(
  { account, factors }: Pick<PartProps, "account"> & { factors: NonNullable<MeFactors["unconfirmed"]> },
) {
  const problem = useSignal<string | null>(null);
  const { busy, run } = useDeed();
  if (factors.length === 0) return null;
  const decide = (call: () => Promise<unknown>, said: string) =>
    void run(async () => {
      problem.value = null;
      await account.run({ call, said, onProblem: (sentence) => problem.value = sentence });
    });
  return (
    <Note tone="wait">
      <strong>{t("me.unconfirmed_title")}</strong>
      <p>{t("me.unconfirmed_text")}</p>
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <ul>
        {factors.map(({ id, kind, name, addedBy, createdMs }) => {
          const factor = [t(`me.notice_${kind}`), name].filter((part) => part !== undefined).join(" ");
          return (
            <li key={id}>
              <bdi>{factor}</bdi>, {t("me.unconfirmed_by", { phone: addedBy })}, {fullTimeText(createdMs)}
              {" "}
              <button
                type="button"
                class="button button-small"
                disabled={busy.value}
                aria-label={`${t("me.unconfirmed_keep")}: ${factor}`}
                onClick={() => decide(() => account.calls.keepUnconfirmed(id), t("me.unconfirmed_kept"))}
              >
                {t("me.unconfirmed_keep")}
              </button>{" "}
              <button
                type="button"
                class="button button-small"
                disabled={busy.value}
                aria-label={`${t("me.unconfirmed_remove")}: ${factor}`}
                onClick={() => decide(() => account.calls.removeUnconfirmed(id), t("me.unconfirmed_removed"))}
              >
                {t("me.unconfirmed_remove")}
              </button>
            </li>
          );
        })}
      </ul>
    </Note>
  );
}

/** What is shown is old, because the server cannot be reached. */
function Stale({ account }: Pick<PartProps, "account">) {
  const problem = account.problem();
  const freshMs = account.freshMs.value;
  return (
    <div role="status" class="me-stale">
      {problem !== null && (
        <Note tone="wait">
          {freshMs === null ? problem : t("me.offline", { time: timeText(freshMs) })}{" "}
          <button type="button" class="button button-small" onClick={() => void account.refresh()}>
            {t("frame.try_again")}
          </button>
        </Note>
      )}
    </div>
  );
}

function Stopped({ done, onClose }: { done: MeDisowned; onClose: () => void }) {
  // A request may be denied before its login is known to be over.
  const ended = Math.max(done.denied, done.ended);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The dialog gives the focus back to its button first.
    const frame = requestAnimationFrame(() => {
      box.current?.focus();
      box.current?.scrollIntoView({ block: "center" });
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  return (
    <div class="me-stopped tone-ok" ref={box} tabIndex={-1} role="group" aria-labelledby="me-stopped">
      <Symbol name="shield" size={20} />
      <div>
        <strong id="me-stopped">{t("me.not_me_done_title")}</strong>
        <p>
          {ended > 0 && `${t("me.not_me_done_denied", { count: ended })} `}
          <span title={fullTimeText(done.lockedUntilMs)}>
            {t("me.not_me_done_locked", { time: hourText(done.lockedUntilMs) })}
          </span>
        </p>
        <p>{t("me.not_me_done_next")}</p>
      </div>
      <button type="button" class="button button-plain" onClick={onClose}>
        <Symbol name="x" />
        <span class="unseen">{t("frame.dismiss")}</span>
      </button>
    </div>
  );
}

/** Hours and minutes: seconds say nothing of an hour's lock. */
function hourText(atMs: number): string {
  return timeText(atMs).slice(0, 5);
}
