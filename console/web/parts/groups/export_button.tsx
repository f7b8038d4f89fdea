// The list as a file: fetched with the session, so that a refusal is said on the page and not saved as a file.

import { useSignal } from "@preact/signals";
import { whyNot } from "../../access_words.ts";
import { ApiFailure, failureText } from "../../api_client.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Symbol } from "../symbol.tsx";

interface ExportProps {
  readonly models: Models;
  readonly what: "users" | "groups";
  /** The list's own filters; "" for those that are off. */
  readonly filters: Readonly<Record<string, string>>;
}

export function ExportButton({ models, what, filters }: ExportProps) {
  const busy = useSignal(false);
  const reason = whyNot(models, "user_manager");
  const save = async () => {
    busy.value = true;
    try {
      await models.session.whileSignedIn(() => download(what, filters));
    } catch (fault) {
      models.toasts.say(`${t("groups.export_failed")} ${failureText(fault)}`, { tone: "bad" });
    }
    busy.value = false;
  };
  return (
    <button
      type="button"
      class="button"
      disabled={reason !== undefined || busy.value}
      title={reason}
      onClick={() => void save()}
    >
      <Symbol name="download" />
      {busy.value ? t("frame.working") : t("groups.export")}
    </button>
  );
}

/** @throws ApiFailure */
async function download(what: string, filters: Readonly<Record<string, string>>): Promise<void> {
  const given = Object.entries(filters).filter(([, value]) => value !== "");
  const query = new URLSearchParams([...given, ["format", "csv"]]);
  const response = await fetch(`/console/api/export/${what}?${query}`).catch(() => {
    throw new ApiFailure("offline");
  });
  if (!response.ok) {
    const body: { error?: { code?: string; message?: string } } = await response.json().catch(() => ({}));
    throw new ApiFailure(body.error?.code ?? "nonsense", { message: body.error?.message ?? "" });
  }
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = `${what}.csv`;
  link.click();
  URL.revokeObjectURL(url);
}
