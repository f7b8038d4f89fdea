// A list as a file: fetched with the session, so that a refusal is said on the page and not saved as a file.

import { failureText } from "../api_client.ts";
import { useDeed } from "../models/deed.ts";
import { download } from "../models/download.ts";
import type { Query } from "../models/filters.ts";
import type { Models } from "../models/models.ts";
import { t } from "../i18n/translate.ts";
import type { MessageKey } from "../i18n/catalogue.ts";
import { Button } from "./button.tsx";

/** What is exported, and what is said of it. */
export interface ExportWords {
  readonly label: MessageKey;
  readonly failed: MessageKey;
}

interface ExportProps {
  readonly models: Models;
  /** Below `/console/api/`: `audit/export`. */
  readonly from: string;
  /** What the list is narrowed to. */
  readonly query: Query;
  /** `audit.csv`: its ending is the format that is asked for. */
  readonly file: string;
  readonly says: ExportWords;
  /** Why it cannot be had. */
  readonly reason?: string | undefined;
}

export function ExportButton({ models, from, query, file, says, reason }: ExportProps) {
  const { busy, run } = useDeed();
  const save = () =>
    run(async () => {
      const asked = new URLSearchParams({ ...query, format: file.slice(file.indexOf(".") + 1) });
      try {
        await models.session.whileSignedIn(() => download(`/console/api/${from}?${asked}`, file));
      } catch (fault) {
        models.toasts.say(`${t(says.failed)} ${failureText(fault)}`, { tone: "bad" });
      }
    });
  return (
    <Button icon="download" disabled={busy.value} reason={reason} onClick={save}>
      {t(busy.value ? "frame.working" : says.label)}
    </Button>
  );
}
