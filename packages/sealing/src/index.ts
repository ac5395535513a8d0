export {
  createDataKey,
  type DataKey,
  fingerprintOf,
  rewrapDataKey,
  type Unwrapped,
  unwrapDataKey,
  type WrappedKey,
} from './data-key.ts'
export { keyNameOf, type KeyPlace, type KeyRecord, parseKeyRecord } from './key-name.ts'
export { type KeyRing, type Opened, sealedWith } from './key-ring.ts'
export { parseKeyRing, SECRET_KEY_VARIABLE } from './parse-key-ring.ts'
export * from './installation-keys.ts'
export * from './receipt-signature.ts'
