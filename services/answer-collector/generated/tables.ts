// Made from prisma/schema.prisma by `pnpm generate`.
import type { ColumnsOf } from '@nextvisit/database'
import type * as prisma from './prisma/client.ts'

/** The table `offers`: its name, its columns and its key. */
export const Offer = [
  'offers',
  {
    organization: 'text',
    project: 'text',
    userId: 'uuid',
    id: 'uuid',
    formId: 'text',
    environment: 'text',
    language: 'text?',
    revision: 'int?',
    causeId: 'uuid',
    queuedAt: 'timestamptz',
    deliveredAt: 'timestamptz?',
    expiredAt: 'timestamptz?',
    startedAt: 'timestamptz?',
    answerId: 'uuid?',
    endedAt: 'timestamptz?',
    status: 'text?',
    answers: 'json',
    answerBytes: 'int',
    counted: 'jsonb',
  } satisfies ColumnsOf<prisma.Offer>,
  ['organization', 'project', 'userId', 'id'],
] as const

/** The table `funnels`: its name, its columns and its key. */
export const Funnel = [
  'funnels',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    language: 'text',
    step: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.Funnel>,
  ['organization', 'project', 'formId', 'environment', 'language', 'step', 'partition'],
] as const

/** The table `funnel_days`: its name, its columns and its key. */
export const FunnelDay = [
  'funnel_days',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    day: 'text',
    language: 'text',
    step: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.FunnelDay>,
  ['organization', 'project', 'formId', 'environment', 'day', 'language', 'step', 'partition'],
] as const

/** The table `answer_times`: its name, its columns and its key. */
export const AnswerTime = [
  'answer_times',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    span: 'int',
    seconds: 'int',
    language: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.AnswerTime>,
  ['organization', 'project', 'formId', 'environment', 'span', 'seconds', 'language', 'partition'],
] as const

/** The table `answer_time_days`: its name, its columns and its key. */
export const AnswerTimeDay = [
  'answer_time_days',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    span: 'int',
    day: 'text',
    seconds: 'int',
    language: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.AnswerTimeDay>,
  ['organization', 'project', 'formId', 'environment', 'span', 'day', 'seconds', 'language', 'partition'],
] as const

/** The table `elements`: its name, its columns and its key. */
export const ElementCount = [
  'elements',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    language: 'text',
    element: 'text',
    type: 'text',
    value: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.ElementCount>,
  ['organization', 'project', 'formId', 'environment', 'language', 'element', 'type', 'value', 'partition'],
] as const

/** The table `element_days`: its name, its columns and its key. */
export const ElementDay = [
  'element_days',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    day: 'text',
    language: 'text',
    element: 'text',
    type: 'text',
    value: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.ElementDay>,
  ['organization', 'project', 'formId', 'environment', 'day', 'language', 'element', 'type', 'value', 'partition'],
] as const

/** The table `erased_elements`: its name, its columns and its key. */
export const ErasedElement = [
  'erased_elements',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    language: 'text',
    element: 'text',
    type: 'text',
    value: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.ErasedElement>,
  ['organization', 'project', 'formId', 'environment', 'language', 'element', 'type', 'value', 'partition'],
] as const

/** The table `erased_element_days`: its name, its columns and its key. */
export const ErasedElementDay = [
  'erased_element_days',
  {
    organization: 'text',
    project: 'text',
    formId: 'text',
    environment: 'text',
    day: 'text',
    language: 'text',
    element: 'text',
    type: 'text',
    value: 'text',
    partition: 'int',
    count: 'bigint',
  } satisfies ColumnsOf<prisma.ErasedElementDay>,
  ['organization', 'project', 'formId', 'environment', 'day', 'language', 'element', 'type', 'value', 'partition'],
] as const
