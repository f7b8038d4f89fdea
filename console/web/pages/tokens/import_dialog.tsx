// The dialog that imports a seed file: choose it, say what it does not say, preview each row, and add the tokens.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { decodeFileText } from "../../../../platform/file_text.ts";
import type { TokenImportRow, TokenImportVerdict, TokenImportView } from "../../../api/tokens/token_types.ts";
import { useAction } from "../../app/action.ts";
import type { Models } from "../../app/app_context.ts";
import { useInterval } from "../../app/resource.ts";
import { Alert, ErrorAlert } from "../../components/alert.tsx";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { type FieldRow, FormFields } from "../../components/form_fields.tsx";
import { t } from "../../i18n/translate.ts";
import { createTokenImportCalls, sendTokenFile, type TokenImportForm, tokenTypeText } from "./token_calls.ts";

const MAX_FILE_OCTETS = 16 * 1024 * 1024;
const POLL_INTERVAL_MS = 400;
const NO_FORM: TokenImportForm = {
  ...{ kind: "", algorithm: "", digits: "", periodS: "", encoding: "auto" },
  ...{ manufacturer: "", key: "", password: "", assigns: false, ignoreValidity: false },
};
const byFile = (value: string) => value === "" ? t("tokens.by_file") : value.toUpperCase();

/** Where the file says something, that counts. */
const FORM_ROWS: readonly FieldRow<TokenImportForm>[] = [
  {
    name: "password",
    label: "common.password",
    hint: "tokens.file_password_hint",
    input: { type: "password" },
  },
  {
    name: "key",
    label: "tokens.file_key",
    hint: "tokens.file_key_hint",
    input: { type: "password", maxLength: 200 },
  },
  { name: "kind", label: "common.type", choices: ["", "hotp", "totp"], choiceLabel: byFile },
  { name: "digits", label: "tokens.digits", choices: ["", "6", "7", "8"], choiceLabel: byFile },
  { name: "periodS", label: "tokens.period", choices: ["", "30", "60"], choiceLabel: byFile },
  {
    name: "algorithm",
    label: "tokens.algorithm",
    choices: ["", "SHA1", "SHA256", "SHA512"],
    choiceLabel: byFile,
  },
  {
    name: "encoding",
    label: "tokens.encoding",
    choices: ["auto", "hex", "base32", "base64"],
    choiceLabel: (value) => t(`tokens.encoding_${value}`),
  },
  { name: "manufacturer", label: "tokens.manufacturer", input: { maxLength: 100 } },
  { name: "ignoreValidity", label: "tokens.ignore_validity", hint: "tokens.ignore_validity_hint" },
];

const ASSIGN_ROWS: readonly FieldRow<TokenImportForm>[] = [
  { name: "assigns", label: "tokens.assigns", hint: "tokens.assigns_hint" },
];
/** The options solve these problems, so they are open. */
const KEY_PROBLEMS: readonly TokenImportView["problem"][] = [
  "needs_key",
  "needs_password",
  "wrong_key",
  "bad_key",
];

interface ImportDialogProps {
  readonly models: Models;
  readonly onClose: () => void;
  /** Called after tokens were added. */
  readonly onImported: () => void;
}

type TokenImport = ReturnType<typeof useTokenImport>;

/** The state of one import. It is polled while the server works, and discarded when the dialog closes. */
function useTokenImport({ models, onImported }: Omit<ImportDialogProps, "onClose">) {
  const view = useSignal<TokenImportView | null>(null);
  const form = useSignal(NO_FORM);
  /** The options of the preview. With others, the file must be checked again. */
  const checkedForm = useSignal(NO_FORM);
  const query = useSignal<{ verdict: TokenImportVerdict | ""; page: number }>({ verdict: "", page: 1 });
  const action = useAction();
  const tooLarge = useSignal(false);
  const callsOf = ({ id }: TokenImportView) => createTokenImportCalls(models, id);
  useEffect(() => () => {
    const now = view.peek();
    if (now !== null) void callsOf(now).end().catch(() => undefined);
  }, []);
  const read = async () => {
    const now = view.peek();
    if (now === null) return;
    const { verdict, page } = query.peek();
    view.value = await callsOf(now).view({ verdict, page: String(page) });
  };
  const check = async () => {
    const now = view.peek();
    if (now === null) return;
    checkedForm.value = form.peek();
    view.value = await callsOf(now).check(form.peek());
  };
  useInterval(POLL_INTERVAL_MS, async () => {
    const state = view.peek()?.state;
    if (state !== "checking" && state !== "applying") return;
    await read().catch(() => undefined);
    if (view.peek()?.state === "applied") onImported();
  });
  return {
    ...{ view, form, action, tooLarge },
    isStale: form.value !== checkedForm.value,
    check: () => void action.run(check),
    apply: () =>
      void action.run(async () => {
        const now = view.peek();
        if (now !== null) view.value = await callsOf(now).apply();
      }),
    show(next: { verdict: TokenImportVerdict | ""; page: number }) {
      query.value = next;
      void action.run(read);
    },
    send(file: File) {
      tooLarge.value = file.size > MAX_FILE_OCTETS;
      if (tooLarge.value) return;
      void action.run(async () => {
        const text = decodeFileText(new Uint8Array(await file.arrayBuffer())) ?? await file.text();
        view.value = await sendTokenFile(models, { name: file.name.slice(0, 300), text });
        await check();
      });
    },
  };
}

export function ImportDialog({ models, onClose, onImported }: ImportDialogProps) {
  const tokens = useTokenImport({ models, onImported });
  const { action, form, tooLarge } = tokens;
  const now = tokens.view.value;
  const isWorking = now?.state === "checking" || now?.state === "applying";
  return (
    <Dialog
      title={t("tokens.import_title")}
      wide
      action={action}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{t(now?.state === "applied" ? "common.done" : "common.cancel")}</Button>
          {now?.state === "checked" && <CheckedButtons tokens={tokens} now={now} />}
        </>
      }
    >
      <ErrorAlert of={action.fault} />
      {tooLarge.value && <Alert tone="bad" role="alert">{t("tokens.too_large")}</Alert>}
      {now?.state !== "applied" && (
        <FileForm
          form={form}
          isBusy={action.busy.value || isWorking}
          isOpen={now !== null && KEY_PROBLEMS.includes(now.problem)}
          onFile={tokens.send}
        />
      )}
      {now !== null && <ImportPreview view={now} onShow={tokens.show} />}
    </Dialog>
  );
}

function CheckedButtons({ tokens, now }: { tokens: TokenImport; now: TokenImportView }) {
  const { action: { busy }, isStale, check, apply } = tokens;
  const none = now.counts.new === 0 ? t("tokens.import_none") : undefined;
  return (
    <>
      <Button busy={busy.value} onClick={check}>{t("tokens.check_again")}</Button>
      {now.problem === null && (
        <Button
          kind="primary"
          icon="upload"
          busy={busy.value}
          reason={isStale ? t("tokens.options_changed") : none}
          onClick={apply}
        >
          {t("tokens.import_count", { count: now.counts.new })}
        </Button>
      )}
    </>
  );
}

function FileForm(
  { form, isBusy, isOpen, onFile }: {
    form: Signal<TokenImportForm>;
    isBusy: boolean;
    isOpen: boolean;
    onFile: (file: File) => void;
  },
) {
  return (
    <div class="form">
      <p>{t("tokens.import_what")}</p>
      <div class="field">
        <label for="token-file">{t("tokens.file")}</label>
        <input
          id="token-file"
          class="input"
          type="file"
          accept=".csv,.txt,.tsv,.xml,.pskc,.pskcxml,.oath,text/csv,application/xml"
          aria-describedby="token-file-hint"
          disabled={isBusy}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file !== undefined) onFile(file);
          }}
        />
        <span class="hint" id="token-file-hint">{t("tokens.file_hint")}</span>
      </div>
      <FormFields prefix="token-import" draft={form} rows={ASSIGN_ROWS} />
      <details open={isOpen}>
        <summary>{t("tokens.options")}</summary>
        <div class="form">
          <FormFields prefix="token-import" draft={form} rows={FORM_ROWS} />
        </div>
      </details>
    </div>
  );
}

// The preview of a seed file: what the import would do with each row, its progress, and its result.

const TOKEN_IMPORT_VERDICTS = ["new", "known", "refused"] as const;

interface PreviewProps {
  readonly view: TokenImportView;
  readonly onShow: (next: { verdict: TokenImportVerdict | ""; page: number }) => void;
}

function ImportPreview({ view, onShow }: PreviewProps) {
  const { state, problem, done, total, counts, imported } = view;
  if (state === "receiving") return null;
  if (state === "checking" || state === "applying") {
    return (
      <div role="status">
        <p>{t(`tokens.progress_${state}`, { done, count: state === "applying" ? counts.new : total })}</p>
        <progress
          aria-label={t("common.working")}
          max={Math.max(1, state === "applying" ? counts.new : total)}
          value={done}
        />
      </div>
    );
  }
  if (problem !== null) {
    return <Alert tone="bad" icon="alert" role="alert">{t(`tokens.problem_${problem}`)}</Alert>;
  }
  if (state === "applied") {
    return <Alert tone="ok" icon="check" role="status">{t("tokens.imported", { count: imported })}</Alert>;
  }
  return (
    <>
      <p role="status">
        {t("tokens.preview", { count: total })} {t("tokens.preview_new", { count: counts.new })},{" "}
        {t("tokens.preview_known", { count: counts.known })},{" "}
        {t("tokens.preview_refused", { count: counts.refused })}.
        {view.assigns > 0 && ` ${t("tokens.preview_assigns", { count: view.assigns })}`}
      </p>
      {view.isSigned && <Alert tone="wait">{t("tokens.is_signed")}</Alert>}
      <PreviewRows view={view} onShow={onShow} />
    </>
  );
}

function PreviewRows({ view, onShow }: PreviewProps) {
  const verdict = useSignal<TokenImportVerdict | "">("");
  const pages = Math.max(1, Math.ceil(view.matching / view.size));
  const choose = (next: TokenImportVerdict | "") => {
    verdict.value = next;
    onShow({ verdict: next, page: 1 });
  };
  return (
    <>
      <select
        class="input"
        aria-label={t("tokens.rows_shown")}
        value={verdict.value}
        onChange={(event) =>
          choose(TOKEN_IMPORT_VERDICTS.find((one) => one === event.currentTarget.value) ?? "")}
      >
        <option value="">{`${t("tokens.rows_all")} (${view.total})`}</option>
        {TOKEN_IMPORT_VERDICTS.map((one) => (
          <option key={one} value={one}>{`${t(`tokens.rows_${one}`)} (${view.counts[one]})`}</option>
        ))}
      </select>
      <ul class="people-list" aria-label={t("tokens.rows")}>
        {view.rows.map((row) => <PreviewRow key={row.line} row={row} />)}
      </ul>
      {pages > 1 && (
        <div class="people-actions">
          <Button
            small
            disabled={view.page <= 1}
            onClick={() => onShow({ verdict: verdict.value, page: view.page - 1 })}
          >
            {t("common.previous")}
          </Button>
          <span>{view.page} / {pages}</span>
          <Button
            small
            disabled={view.page >= pages}
            onClick={() => onShow({ verdict: verdict.value, page: view.page + 1 })}
          >
            {t("common.next")}
          </Button>
        </div>
      )}
    </>
  );
}

function PreviewRow({ row }: { row: TokenImportRow }) {
  const { line, serial, verdict, problem, kind, algorithm, digits, periodS, user, assignment } = row;
  return (
    <li>
      <span class="quiet small">{line}</span>
      <bdi class="mono">{serial}</bdi>
      {kind !== null && algorithm !== null && (
        <span class="small">{tokenTypeText({ kind, algorithm, digits, periodS })}</span>
      )}
      {verdict !== "new" && (
        <span class="small">{problem === null ? t("tokens.known") : t(`tokens.row_${problem}`)}</span>
      )}
      {assignment !== "none" && (
        <span class="small">
          {t(`tokens.assignment_${assignment}`)} <bdi>{user}</bdi>
        </span>
      )}
    </li>
  );
}
