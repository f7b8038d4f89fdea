// How a deed on many users stands: its progress, what it changed, what failed and why, and a way back.

import type { JobView } from "../../../api/users/bulk_types.ts";
import { failureText } from "../../api_client.ts";
import { createJobCalls } from "../../models/bulk_calls.ts";
import { useDeed } from "../../models/deed.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Button } from "../button.tsx";
import { Note } from "../note.tsx";

const MOST_SHOWN = 10;

interface JobProps {
  readonly models: Models;
  readonly job: { value: JobView | null };
  /** What went with it does not come back, so no way back is offered. */
  readonly isLasting?: boolean;
  readonly onProblem: (text: string | null) => void;
}

export function JobNote({ models, job, isLasting = false, onProblem }: JobProps) {
  const { busy, run } = useDeed();
  const now = job.value;
  if (now === null) return null;
  const calls = createJobCalls(models, now.id);
  const ask = (call: () => Promise<JobView>) =>
    run(async () => {
      onProblem(null);
      try {
        job.value = await call();
      } catch (fault) {
        onProblem(failureText(fault));
      }
    });
  if (now.state === "running") {
    return (
      <Note tone="wait" icon="clock">
        <span role="status">{t("groups.bulk_progress", { done: now.done, count: now.total })}</span>{" "}
        <progress aria-label={t("frame.working")} max={Math.max(1, now.total)} value={now.done} />{" "}
        <Button small disabled={now.isStopping || busy.value} onClick={() => ask(calls.stop)}>
          {t(now.isStopping ? "groups.bulk_stopping" : "groups.bulk_stop")}
        </Button>
      </Note>
    );
  }
  const isWhole = now.failed === 0 && now.owed.length === 0 && now.state === "ended";
  const more = now.failed - MOST_SHOWN;
  return (
    <Note tone={isWhole ? "ok" : "wait"} icon={isWhole ? "check" : "alert"} role="status">
      {now.state === "stopped" && <strong>{t("groups.bulk_stopped")}</strong>}{" "}
      <strong>{t(`groups.did_${now.action}`, { count: now.changed })}</strong>{" "}
      {now.same > 0 && t("groups.did_same", { count: now.same })}
      {now.owed.map(({ backend, count }) => (
        <span key={backend}>
          {t("groups.bulk_owed", { count, backend })}{" "}
          <a href={`/users?backend=${encodeURIComponent(backend)}&sync=pending`}>
            {t("groups.bulk_owed_show")}
          </a>
          {" "}
        </span>
      ))}
      {now.failed > 0 && (
        <>
          {" "}
          {t("groups.did_fail", { count: now.failed })}
          <ul class="people-consequences">
            {now.failures.slice(0, MOST_SHOWN).map(({ name, detail }) => (
              <li key={name}>
                <bdi>{name}</bdi>: {detail}
              </li>
            ))}
            {more > 0 && <li>{t("groups.bulk_more", { count: more })}</li>}
          </ul>
        </>
      )} {now.canUndo && !isLasting && (
        <Button
          small
          disabled={busy.value}
          onClick={() => ask(calls.undo)}
        >
          {t("frame.undo")}
        </Button>
      )} <Button kind="plain" small onClick={() => job.value = null}>{t("frame.dismiss")}</Button>
    </Note>
  );
}
