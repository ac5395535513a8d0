// Written by scripts/write-api-types.ts from docs/reference/openapi.json. Do not edit it.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly IdentifyItem: {
            /** @description Your name for the user, such as an id or an email. Used exactly as given; not only white space. */
            readonly userName: string;
            /** @description Trait operations, applied in this order; at most 250 over all operators. */
            readonly userAttributes?: components["schemas"]["UserAttributes"] | null;
            /** @description Unlisted members are dropped. */
            readonly $deviceInfo?: components["schemas"]["DeviceInfo"] | null;
            /** @description Hex HMAC-SHA256 of userName; for SDK keys, if the project requires it. */
            readonly userSignature?: string | null;
            /** @constant */
            readonly type: "identify";
            /** @description Like the header of the single route. Default: derived from the batch's key, if any, and the position of the item. */
            readonly idempotencyKey?: string | null;
        };
        readonly UserAttributes: {
            /** @description Set or overwrite traits. */
            readonly $set?: {
                readonly [key: string]: (string | number | boolean | null) | readonly (string | number | boolean | null)[];
            } | null;
            /** @description Set a trait only if it is not already set. */
            readonly $setOnce?: {
                readonly [key: string]: (string | number | boolean | null) | readonly (string | number | boolean | null)[];
            } | null;
            /** @description Increment numeric traits. */
            readonly $increment?: {
                readonly [key: string]: number;
            } | null;
            /** @description Decrement numeric traits. */
            readonly $decrement?: {
                readonly [key: string]: number;
            } | null;
            /** @description Trait keys to remove. */
            readonly $unset?: readonly string[] | null;
        };
        readonly DeviceInfo: {
            readonly $countryCode?: string | null;
            readonly $timezone?: string | null;
            readonly $deviceOs?: ("iOS" | "Android" | "Windows") | null;
            readonly $deviceOsVersion?: string | null;
            readonly $sdkVersion?: string | null;
            readonly $app?: string | null;
            readonly $appVersion?: string | null;
            readonly $deviceLanguage?: string | null;
            readonly $userLanguage?: string | null;
            readonly $deviceId?: string | null;
            readonly $urlOrScreenName?: string | null;
            readonly $deviceType?: ("web" | "native") | null;
            readonly $deviceSize?: ("desktop" | "tablet" | "mobile") | null;
            readonly $preferredTheme?: ("light" | "dark") | null;
            readonly $browser?: string | null;
            readonly $browserVersion?: string | null;
        };
        readonly IdentifyUserAnswer: {
            /** @constant */
            readonly message: "ok";
            /**
             * Format: uuid
             * @description Derived from organization, project and userName; never changes.
             */
            readonly userId: string;
        };
        readonly TrackItem: {
            /** @description Your name for the user, such as an id or an email. Used exactly as given; not only white space. */
            readonly userName: string;
            /** @description At least one letter or digit; not form:*. `Checkout Completed` and `checkout_completed` are one event. */
            readonly eventName: string;
            /** @description ISO 8601 with a time zone; at most 5 minutes ahead and 365 days back. Default: now. */
            readonly occurredAt?: string | null;
            /** @description Any data about the event: at most 32,768 bytes as JSON and 5 levels, including this object. */
            readonly properties?: {
                readonly [key: string]: components["schemas"]["EventProperty"];
            } | null;
            /** @description Hex HMAC-SHA256 of userName; for SDK keys, if the project requires it. */
            readonly userSignature?: string | null;
            /** @constant */
            readonly type: "track";
            /** @description Like the header of the single route. Default: derived from the batch's key, if any, and the position of the item. */
            readonly idempotencyKey?: string | null;
        };
        readonly EventProperty: string | number | boolean | null | readonly unknown[] | {
            readonly [key: string]: components["schemas"]["EventProperty"];
        };
        readonly TrackEventAnswer: {
            /**
             * Format: uuid
             * @description Equal to X-Request-Id.
             */
            readonly requestId: string;
            /**
             * Format: date-time
             * @description The recorded time of the event, UTC.
             */
            readonly occurredAt: string;
            /** @description true if this request registered the event in the project. */
            readonly newEvent: boolean;
            /** @description false for an event older than 15 minutes, and if the triggers are evaluated later. */
            readonly triggersEvaluated: boolean;
            /** @description Number of forms that this event queued for the user's next visit. */
            readonly formsQueued: number;
            /** @description A summary in English. */
            readonly message: string;
        };
        readonly UserAnswer: {
            /** Format: uuid */
            readonly userId: string;
            readonly userName: string;
            readonly traits: {
                readonly [key: string]: components["schemas"]["TraitValue"];
            };
            /** @description Number of trait operations and device facts that were dropped because the user has reached a limit. Absent if none. */
            readonly droppedTraitOperations?: number;
            readonly country: string | null;
            readonly device: components["schemas"]["DeviceFacts"];
            /** Format: date-time */
            readonly firstSeenAt: string;
            /** Format: date-time */
            readonly lastSeenAt: string;
            readonly events: {
                readonly [key: string]: {
                    readonly count: number;
                    /** Format: date-time */
                    readonly firstAt: string;
                    /** Format: date-time */
                    readonly lastAt: string;
                };
            };
            /**
             * @description True if the user has more events than the 1,000 shown, the first by slug.
             * @constant
             */
            readonly moreEvents?: true;
            readonly segments: readonly string[];
            /**
             * @description True if the latest records may be missing, because the service behind this answer lags. Absent otherwise.
             * @constant
             */
            readonly stale?: true;
            readonly waitingForms: readonly components["schemas"]["WaitingForm"][];
        };
        readonly TraitValue: (string | number | boolean | null) | readonly (string | number | boolean | null)[];
        readonly DeviceFacts: {
            readonly [key: string]: string;
        };
        readonly WaitingForm: {
            /** Format: uuid */
            readonly queuedId: string;
            readonly formId: string;
            /** @constant */
            readonly state: "waiting";
            /** Format: date-time */
            readonly queuedAt: string;
            /** Format: date-time */
            readonly showFrom: string;
            readonly expiresAt: string | null;
            readonly priority: number;
        };
        readonly ErrorBody: {
            /** @description The HTTP status. */
            readonly status: number;
            /** @description The reason phrase of the status, such as Bad Request. */
            readonly error: string;
            /** @description The invalid part, and the accepted form. */
            readonly message: string;
        };
        /** @enum {integer} */
        readonly RefusalStatus: 400 | 401 | 402 | 403 | 404 | 405 | 413 | 415 | 417 | 422 | 431;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type IdentifyItem = components['schemas']['IdentifyItem'];
export type UserAttributes = components['schemas']['UserAttributes'];
export type DeviceInfo = components['schemas']['DeviceInfo'];
export type IdentifyUserAnswer = components['schemas']['IdentifyUserAnswer'];
export type TrackItem = components['schemas']['TrackItem'];
export type EventProperty = components['schemas']['EventProperty'];
export type TrackEventAnswer = components['schemas']['TrackEventAnswer'];
export type UserAnswer = components['schemas']['UserAnswer'];
export type TraitValue = components['schemas']['TraitValue'];
export type DeviceFacts = components['schemas']['DeviceFacts'];
export type WaitingForm = components['schemas']['WaitingForm'];
export type ErrorBody = components['schemas']['ErrorBody'];
export type RefusalStatus = components['schemas']['RefusalStatus'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
