process SEQMTL_SCAN {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(model), path(genome), val(organism)
    val format

    output:
    tuple val(meta), path("${prefix}.sites.*"), emit: sites
    tuple val(meta), path("${prefix}.scan.json"), emit: summary
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    seqmtl scan $model $genome --organism '$organism' --format $format \\
        --json ${prefix}.scan.json --threads $task.cpus $args -o ${prefix}.sites.${format}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.sites.${format} ${prefix}.scan.json
    """
}
