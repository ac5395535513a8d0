import { defineTable } from '@nextvisit/database'
import {
  ErasedKey,
  Erasure,
  ErasureFact,
  ErasureStore,
  ErasureUser,
  InstallationKeys,
  KeyCursor,
} from '../generated/tables.ts'

export const erasures = defineTable(...Erasure)
export const erasureUsers = defineTable(...ErasureUser)
export const erasureFacts = defineTable(...ErasureFact)
export const erasureStores = defineTable(...ErasureStore)
export const erasedKeys = defineTable(...ErasedKey)
export const keyCursors = defineTable(...KeyCursor)
export const installationKeys = defineTable(...InstallationKeys)
