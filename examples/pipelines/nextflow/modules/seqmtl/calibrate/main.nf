process SEQMTL_CALIBRATE {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(model), path(dataset), path(genomes)

    output:
    tuple val(meta), path("${prefix}.seqmtl"), emit: model
    tuple val(meta), path("${prefix}.calibration.json"), emit: summary
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    seqmtl calibrate $model $dataset --json ${prefix}.calibration.json \\
        --threads $task.cpus $args -o ${prefix}.seqmtl
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.seqmtl ${prefix}.calibration.json
    """
}
