/** The arguments of tools as models send them (contract 10.5). */
import { expect } from 'chai'
import { parseOperation } from '../../../agent/operation/operation.ts'
import { readToolArguments } from '../../../agent/operation/tool-arguments.ts'
import { definitionOf } from '../../support/operations.ts'

function parse(operation: string, given: unknown) {
  const definition = definitionOf(operation)
  const parsed = parseOperation(definition, readToolArguments(definition, given))
  return parsed.kind === 'valid' ? parsed.operation.input : parsed.fault
}

describe('[10.5] the arguments of a tool', () => {
  it('have members that are empty or null as if they were absent', () => {
    expect(parse('search', { q: 'abc', eircode: '', status: null })).to.deep.equal({ q: 'abc', limit: 5 })
    expect(parse('resolve', { name: '', company_number: '7' })).to.deep.equal({ company_number: '7' })
    expect(parse('lookup', { company_number: '' })).to.deep.equal({ field: 'company_number', rule: 'is required' })
  })

  it('have digits for a whole number that JSON represents exactly, and a number for digits', () => {
    expect(parse('lookup', { company_number: 335801 })).to.deep.equal({ company_number: '335801' })
    for (const number of [1.5, 2 ** 53, -7, true])
      expect(parse('lookup', { company_number: number }), String(number)).to.have.property('field', 'company_number')
    expect(parse('search', { q: 'abc', limit: '3' })).to.deep.equal({ q: 'abc', limit: 3 })
    for (const limit of ['03', '1e1', 'three', '3 '])
      expect(parse('search', { q: 'abc', limit }), limit).to.have.property('field', 'limit')
  })

  it('have the list for its JSON text, and read each input of a batch', () => {
    const inputs = [
      { company_number: 7, name: null },
      { name: 'abc', eircode: '' },
    ]
    const expected = { operation: 'resolve', inputs: [{ company_number: '7' }, { name: 'abc' }] }
    expect(parse('batch', { operation: 'resolve', inputs: JSON.stringify(inputs) })).to.deep.equal(expected)
    expect(parse('batch', { operation: 'resolve', inputs })).to.deep.equal(expected)
    expect(parse('changes', { since: '2026-01-01', company_numbers: '[8, "7"]' })).to.deep.include({
      company_numbers: ['7', '8'],
    })
    for (const text of ['{}', '[', '7', '8,7'])
      expect(parse('changes', { since: '2026-01-01', company_numbers: text }), text).to.have.property(
        'field',
        'company_numbers',
      )
  })

  it('keep unknown members, which the schema refuses', () => {
    const given = JSON.parse('{"company_number": "7", "__proto__": {"a": 1}}') as object
    expect(parse('lookup', given)).to.have.property('field', null)
    for (const value of [null, [], 'abc', 7]) expect(parse('lookup', value)).to.have.property('field', null)
  })
})
