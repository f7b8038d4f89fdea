// Dialogs that send a form or confirm an action, and show a created secret once.

import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { ApiFailure } from "../app/api_client.ts";
import { type Action, canClose, type Question, useAction } from "../app/action.ts";
import type { Router } from "../app/router.ts";
import { t } from "../i18n/translate.ts";
import { Button, CopyButton } from "./button.tsx";
import { Dialog, DiscardDialog } from "./dialog.tsx";
import { Alert, ErrorAlert } from "./alert.tsx";
import { BackendResults } from "./backend_results.tsx";
import { Checkbox, TextField } from "./field.tsx";
import { FormFault } from "./form_fields.tsx";

interface FormDialogProps {
  readonly title: string;
  /** On the button: "Create the group". */
  readonly submitLabel: string;
  /** Sends the form. The dialog closes, unless it resolves to "stay" or to a secret to show. Errors are shown above the fields. */
  readonly onSubmit: () => Promise<CreatedSecret | "stay" | void>;
  readonly onClose: () => void;
  /** The title of an error: "The group was not created." */
  readonly failureTitle?: string;
  /** The error is shown at its field, so it is not repeated above the fields. */
  readonly isAtField?: boolean;
  /** For a caller that shows the progress. */
  readonly action?: Action;
  /** Why the button is disabled; `""` if that is obvious. */
  readonly reason?: string | undefined;
  /** The label of the cancel button. It has the focus if the dialog only asks. */
  readonly cancelLabel?: string;
  readonly isQuestion?: boolean;
  readonly isDestructive?: boolean;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

export function FormDialog(props: FormDialogProps) {
  const {
    title,
    submitLabel,
    onSubmit,
    onClose,
    failureTitle,
    reason,
    cancelLabel = t("common.cancel"),
    isQuestion = false,
    isDestructive = false,
    isAtField = false,
    wide = false,
    children,
  } = props;
  const own = useAction();
  const { action = own } = props;
  const { busy, fault, run } = action;
  const made = useSignal<CreatedSecret | null>(null);
  /** Closing would lose input. A question has none. */
  const hasInput = useSignal(false);
  const isLeaving = useSignal(false);
  /** Closed while the request ran: its late result must not close a dialog that was opened since. */
  const isClosed = useRef(false);
  const leave = () => {
    isClosed.current = true;
    onClose();
  };
  const close = () => hasInput.value ? isLeaving.value = true : leave();
  const formId = useId();
  if (made.value !== null) return <SecretDialog {...made.value} onClose={onClose} />;
  const submit = async () => {
    const result = await onSubmit();
    if (isClosed.current || result === "stay") return;
    if (typeof result === "object") made.value = result;
    else onClose();
  };
  const receipt = fault.value instanceof ApiFailure ? fault.value.receipt : null;
  return (
    <Dialog
      title={title}
      onClose={close}
      action={action}
      wide={wide}
      footer={
        <>
          <Button autofocus={isQuestion} disabled={!canClose(action)} onClick={close}>{cancelLabel}</Button>
          <Button
            type="submit"
            form={formId}
            kind={isDestructive ? "bad" : "primary"}
            reason={reason}
            busy={busy.value}
          >
            {submitLabel}
          </Button>
        </>
      }
    >
      <form
        id={formId}
        class="form"
        onInput={() => hasInput.value = !isQuestion}
        onSubmit={(event) => {
          event.preventDefault();
          void run(submit);
        }}
      >
        {!isAtField && (
          <ErrorAlert of={fault} title={failureTitle}>
            {receipt !== null && <BackendResults entries={receipt.entries} />}
          </ErrorAlert>
        )}
        <FormFault.Provider value={fault.value}>{children}</FormFault.Provider>
      </form>
      {isLeaving.value && <DiscardDialog onKeep={() => isLeaving.value = false} onDiscard={leave} />}
    </Dialog>
  );
}

/** From this many objects on, the user must type a word to confirm. */
const TYPE_FROM_COUNT = 25;

interface ConfirmProps {
  /** A question with its number: "Delete 2 users?". */
  readonly title: string;
  /** The verb on the button: "Delete 2 users". */
  readonly submitLabel: string;
  /** The number of objects. From 25 on, the user must type `word`. */
  readonly count?: number;
  /** The word to type. Default: the number. */
  readonly word?: string;
  /** Why the action is disabled. */
  readonly reason?: string | undefined;
  /** The consequences. */
  readonly children: ComponentChildren;
  /** Runs the action. An error, or a message that it resolves to, is shown. */
  readonly onConfirm: () => Promise<string | null | void>;
  readonly onClose: () => void;
}

export function ConfirmDialog(
  { count = 1, word = String(count), reason, children, onConfirm, ...rest }: ConfirmProps,
) {
  const typed = useSignal("");
  const mustType = count >= TYPE_FROM_COUNT;
  const confirm = async () => {
    const problem = await onConfirm();
    if (problem) throw new ApiFailure("unconfirmed", { message: problem });
  };
  return (
    <FormDialog
      {...rest}
      cancelLabel={t("common.cancel")}
      isQuestion
      isDestructive
      reason={reason ?? (mustType && typed.value.trim() !== word ? "" : undefined)}
      onSubmit={confirm}
    >
      {children}
      {mustType && (
        <TextField
          id="confirm-word"
          label={t("common.type_to_confirm", { word })}
          text={typed}
          input={{ spellcheck: false }}
        />
      )}
    </FormDialog>
  );
}

/** The question that a page asks. It ends when another page opens. */
export function QuestionDialog({ models: { question, router } }: QuestionDeps) {
  const path = router.path.value;
  useEffect(() => () => void (question.value = null), [path]);
  return question.value !== null && (
    <QuestionForm
      {...question.value}
      onClose={() => question.value = null}
    />
  );
}

/** One question. The focus is on the button that does nothing. */
export function QuestionForm(
  { text, isBad = false, run, ...props }: Question & { readonly onClose: () => void },
) {
  return (
    <FormDialog {...props} isQuestion isDestructive={isBad} onSubmit={async () => void await run()}>
      {typeof text === "string" ? <p>{text}</p> : text}
    </FormDialog>
  );
}

interface QuestionDeps {
  readonly models: { readonly question: Signal<Question | null>; readonly router: Router };
}

interface SecretProps {
  /** "Token of ci". */
  readonly label: string;
  /** One line, or several, such as recovery codes. */
  readonly secret: string;
  /** It is read out: in large type. */
  readonly isSpoken?: boolean | undefined;
  readonly onDone: () => void;
  readonly children?: ComponentChildren;
}

export function OneTimeSecret({ label, secret, isSpoken = false, onDone, children }: SecretProps) {
  const kept = useSignal(false);
  return (
    <div class="secret">
      <Alert tone="wait">{t(isSpoken ? "common.shown_once_code" : "common.shown_once")}</Alert>
      <pre
        class={isSpoken ? "mono spoken" : "mono"}
        role="group"
        tabIndex={0}
        aria-label={label}
      >{secret}</pre>
      {children}
      <div class="secret-end">
        <CopyButton text={secret} what={isSpoken ? t("common.copy_code") : t("common.copy")} />
        <Checkbox
          label={t("common.i_kept_it")}
          checked={kept.value}
          onChange={(checked) => kept.value = checked}
        />
        <Button kind="primary" disabled={!kept.value} onClick={onDone}>
          {t("common.done")}
        </Button>
      </div>
    </div>
  );
}

/** A created secret. */
export interface CreatedSecret {
  /** The title of the dialog, and the default of `label`. */
  readonly title: string;
  readonly label?: string;
  readonly secret: string;
  readonly isSpoken?: boolean;
  readonly wide?: boolean;
  readonly children?: ComponentChildren;
}

/** A dialog with a secret. Only "Done" closes it, because the secret cannot be shown again. */
export function SecretDialog(
  { title, label = title, onClose, wide, children, ...shown }: CreatedSecret & { onClose: () => void },
) {
  return (
    <Dialog title={title} wide={wide}>
      <OneTimeSecret {...shown} label={label} onDone={onClose}>{children}</OneTimeSecret>
    </Dialog>
  );
}
