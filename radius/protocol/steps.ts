// The places of a conversation. State carries the name of a step. A passage is an internal place between two steps and is never sent. In
// most passages the server waits for another service.

/** The steps, with their names in the console and the docs. */
export const STEPS = {
  FIRSTFACTOR_GET_ANSWER: { title: "Answering the first-factor server" },
  FIRSTFACTOR_GET_NEW_PASSWORD: { title: "Typing a new password" },
  FIRSTFACTOR_REPEAT_NEW_PASSWORD: { title: "Typing the new password again" },
  CHOOSE_WHICH_MULTIFACTOR: { title: "Choosing a factor" },
  SECONDFACTOR_GET_PAIRING_PHRASE: { title: "Typing a pairing phrase" },
  SECONDFACTOR_AWAIT_PAIRING_APPROVAL: { title: "Confirming the pairing" },
  SECONDFACTOR_AWAIT_DEVICE_APPROVAL: { title: "Waiting for the phone" },
  GET_SMS_PHONE_NUMBER: { title: "Typing a number for a text" },
  GET_VOICE_PHONE_NUMBER: { title: "Typing a number for a call" },
  VERIFY_SMS_PHONE_NUMBER: { title: "Proving a number by text" },
  VERIFY_VOICE_PHONE_NUMBER: { title: "Proving a number by call" },
  AWAIT_SMS_DELIVERED_PASSCODE: { title: "Typing the texted passcode" },
  AWAIT_VOICE_DELIVERED_PASSCODE: { title: "Typing the spoken passcode" },
  GET_DEVICE_GENERATED_PASSCODE: { title: "Typing the device's passcode" },
} as const satisfies Record<string, { title: string }>;

export type Step = keyof typeof STEPS;

/**
 * The passages. `afterCrash`: the step at which a conversation continues if the server stopped inside the passage. The claim was recorded,
 * so the effect is not repeated, and the user gets a prompt that they can still answer.
 */
export const PASSAGES = {
  start: { title: "Received", afterCrash: null },
  first_factor: { title: "Checking the password", afterCrash: null },
  factor: { title: "Picking a factor", afterCrash: null },
  password_due: { title: "Waiting for a new password", afterCrash: null },
  changing_password: { title: "Changing the password", afterCrash: "FIRSTFACTOR_GET_NEW_PASSWORD" },
  pushing: { title: "Sending the approval request", afterCrash: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" },
  holding: { title: "Holding for the phone", afterCrash: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" },
  asking: { title: "Asking for the decision", afterCrash: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL" },
  pushing_for_code: {
    title: "Opening a request for the passcode",
    afterCrash: "GET_DEVICE_GENERATED_PASSCODE",
  },
  code: { title: "Checking the passcode", afterCrash: "GET_DEVICE_GENERATED_PASSCODE" },
  asking_otp: { title: "Asking about the passcode", afterCrash: "GET_DEVICE_GENERATED_PASSCODE" },
  texting: { title: "Sending a text", afterCrash: "AWAIT_SMS_DELIVERED_PASSCODE" },
  calling: { title: "Placing a call", afterCrash: "AWAIT_VOICE_DELIVERED_PASSCODE" },
  texting_typed: { title: "Sending a text to a typed number", afterCrash: "VERIFY_SMS_PHONE_NUMBER" },
  calling_typed: { title: "Calling a typed number", afterCrash: "VERIFY_VOICE_PHONE_NUMBER" },
  pairing: { title: "Pairing a device", afterCrash: "SECONDFACTOR_GET_PAIRING_PHRASE" },
  asking_pairing: { title: "Asking for the pairing", afterCrash: "SECONDFACTOR_AWAIT_PAIRING_APPROVAL" },
  gone: { title: "A State without a conversation", afterCrash: null },
} as const satisfies Record<string, { title: string; afterCrash: Step | null }>;

type Passage = keyof typeof PASSAGES;
export type FlowEnd = "accept" | "reject";
export type FlowPlace = Step | Passage;

const STEP_NAMES = new Map<string, Step>(Object.keys(STEPS).map((name) => [name, name as Step]));

/** The step with this name, or `null`. Use it for names from outside. */
export function stepByName(name: string): Step | null {
  return STEP_NAMES.get(name) ?? null;
}

/** Whether a place is a step. */
export function isStep(place: string): place is Step {
  return STEP_NAMES.has(place);
}
