/** What the operations return (spec 2): the schemas that results are checked against and documents are made from. */
import { z } from 'zod'
import { companySchema } from '../../store/company.ts'
import { sourceSchema } from '../../store/source.ts'

const snapshotIdSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/)

/** Spec 2.3, a lookup's 200. */
export const companyResponseSchema = z.strictObject({
  company: companySchema,
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
})

export type CompanyResponse = z.infer<typeof companyResponseSchema>
