export { createNextvisit, type Nextvisit, type NextvisitOptions } from './nextvisit.ts'
export { type CallItem, NextvisitError, type NextvisitErrorCode } from './nextvisit-error.ts'
export type {
  FoundUser,
  Identified,
  IdentifyCall,
  IdentifyResult,
  Refusal,
  TrackCall,
  Tracked,
  TrackResult,
  UserResult,
} from './results.ts'
