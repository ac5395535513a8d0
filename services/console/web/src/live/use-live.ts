import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Input } from '../../../src/api.ts'
import { callApi } from '../app/call-api.ts'
import type { LiveSearch } from './live-search.ts'
import { followed, NOTHING_SHOWN, withAnswer } from './shown-entries.ts'

const AGAIN_AFTER_MS = 1_000

/** Asks every second for what is new, unless the page is hidden. Paused, it goes on asking, and shows nothing of it. */
export function useLive(filter: LiveSearch) {
  const cursor = useRef<string>(undefined)
  const [isPaused, setIsPaused] = useState(false)
  const [shown, setShown] = useState(NOTHING_SHOWN)
  const query = useQuery({
    queryKey: ['readLive', filter],
    queryFn: () => callApi('readLive', inputOf(filter, cursor.current)),
    refetchInterval: AGAIN_AFTER_MS,
    // An answer is new also where it equals the one before, and an old one is of no use.
    structuralSharing: false,
    gcTime: 0,
  })
  const { data } = query
  useEffect(() => {
    if (!data) return
    cursor.current = data.cursor ?? undefined
    setShown((now) => withAnswer(now, data, isPaused))
    // Of each answer once, whatever it was paused for since.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [data])
  return {
    shown,
    isPaused,
    pause: () => setIsPaused(true),
    follow: () => {
      setIsPaused(false)
      setShown(followed)
    },
    query,
  }
}

function inputOf({ project: name, event, outcome }: LiveSearch, after: string | undefined): Input<'readLive'> {
  const [organization, project] = name?.split('/') ?? []
  return { organization, project, event, outcome, after }
}
